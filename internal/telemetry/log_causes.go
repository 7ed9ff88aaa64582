package telemetry

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode"

	"k8s.io/utils/clock"
)

// causeEvery is the least time between two written lines with the same cause.
const causeEvery = time.Minute

// LogKeyRepeated is the key for the number of lines with the same cause that were omitted since the last written one.
const LogKeyRepeated = "repeated"

// byCause writes at most one error line per cause in causeEvery, with the number of omitted lines. A cause is the message
// and the result of causeOf. Lines without an error are always written. Without this limit, an outage of the cloud would
// cause an error line for every NodeClaim and every retry.
type byCause struct {
	slog.Handler
	causes *causes
}

func (b *byCause) Handle(ctx context.Context, r slog.Record) error {
	text := errorOf(r)
	if r.Level < slog.LevelError || text == "" {
		return b.Handler.Handle(ctx, r)
	}
	omitted, write := b.causes.admit(r.Message + ": " + causeOf(text))
	if !write {
		return nil
	}
	if omitted > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int(LogKeyRepeated, omitted))
	}
	return b.Handler.Handle(ctx, r)
}

func (b *byCause) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &byCause{b.Handler.WithAttrs(attrs), b.causes}
}

func (b *byCause) WithGroup(name string) slog.Handler {
	return &byCause{b.Handler.WithGroup(name), b.causes}
}

// errorOf returns the error of a line, "" if it has none.
func errorOf(r slog.Record) (text string) {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "err" {
			text = a.Value.String()
		}
		return text == ""
	})
	return text
}

// causeOf returns the error with each word that has a digit or a hyphen replaced by *. Such words are mostly names of
// objects or IDs of requests.
func causeOf(text string) string {
	words := strings.Fields(text)
	for n, w := range words {
		if strings.ContainsFunc(w, func(r rune) bool { return r == '-' || unicode.IsDigit(r) }) {
			words[n] = "*"
		}
	}
	return strings.Join(words, " ")
}

// causes counts lines by cause. A logger and all loggers derived from it share one value.
type causes struct {
	clock clock.PassiveClock

	mu   sync.Mutex // guards seen
	seen map[string]*seenCause
}

// A seenCause has the time of the last written line of a cause and the number of lines omitted since.
type seenCause struct {
	written time.Time
	omitted int
}

// manyCauses is the number of causes from which on those without a line in the last causeEvery are removed.
const manyCauses = 1000

// admit reports whether a line with the cause is to be written, and how many lines were omitted since the last written one.
func (c *causes) admit(cause string) (omitted int, write bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	s := c.seen[cause]
	if s != nil && now.Sub(s.written) < causeEvery {
		s.omitted++
		return 0, false
	}
	if s != nil {
		omitted = s.omitted
	}
	if len(c.seen) >= manyCauses {
		for k, old := range c.seen {
			if now.Sub(old.written) >= causeEvery {
				delete(c.seen, k)
			}
		}
	}
	c.seen[cause] = &seenCause{written: now}
	return omitted, true
}
