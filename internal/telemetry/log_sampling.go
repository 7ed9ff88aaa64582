package telemetry

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// quiet drops the debug lines of the logger "events", because each of these events is also published to Kubernetes.
type quiet struct{ slog.Handler }

func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelInfo && loggerOf(r) == "events" {
		return nil
	}
	return q.Handler.Handle(ctx, r)
}

func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }
func (q quiet) WithGroup(name string) slog.Handler       { return quiet{q.Handler.WithGroup(name)} }

func loggerOf(r slog.Record) (name string) {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == LogKeyLogger {
			name = a.Value.String()
		}
		return true
	})
	return name
}

// sampled writes the first hundred equal lines in one second, then every hundredth. Lines are equal if their level and message
// are equal.
type sampled struct {
	slog.Handler
	counts *lineCounts
}

func (s *sampled) Handle(ctx context.Context, r slog.Record) error {
	if !s.counts.admit(line{r.Level, r.Message}) {
		return nil
	}
	return s.Handler.Handle(ctx, r)
}

func (s *sampled) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &sampled{s.Handler.WithAttrs(attrs), s.counts}
}

func (s *sampled) WithGroup(name string) slog.Handler {
	return &sampled{s.Handler.WithGroup(name), s.counts}
}

// A line is the part of a log line that is compared. The other keys and values are not compared.
type line struct {
	level   slog.Level
	message string
}

// lineCounts counts lines within the current second. A logger and all loggers derived from it share one value.
type lineCounts struct {
	clock clock.PassiveClock

	mu    sync.Mutex // guards since and seen
	since time.Time
	seen  map[line]int
}

const (
	sampleFirst      = 100
	sampleThereafter = 100
)

func newLineCounts(c clock.PassiveClock) *lineCounts {
	return &lineCounts{clock: c, since: c.Now(), seen: map[line]int{}}
}

// admit counts l and reports whether it is to be written.
func (c *lineCounts) admit(l line) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.clock.Now(); now.Sub(c.since) >= time.Second {
		c.since = now
		clear(c.seen)
	}
	c.seen[l]++
	n := c.seen[l]
	return n <= sampleFirst || (n-sampleFirst)%sampleThereafter == 0
}
