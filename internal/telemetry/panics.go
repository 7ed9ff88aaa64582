package telemetry

import (
	"context"
	"log/slog"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Panics counts the recovered panics that are logged as errors. Export sets the metric; panics before Export are counted, too.
// The zero value is ready to use. A nil pointer counts nothing.
//
// Panics of Reconcile are not counted: controller-runtime has the metric controller_runtime_reconcile_panics_total for them.
type Panics struct {
	mu      sync.Mutex // guards the rest
	pending int        // counted before Export
	counter prometheus.Counter
}

// Export adds all panics to the counter, including those before the call.
func (p *Panics) Export(c prometheus.Counter) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c.Add(float64(p.pending))
	p.pending, p.counter = 0, c
}

func (p *Panics) add() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.counter == nil {
		p.pending++
		return
	}
	p.counter.Inc()
}

// isPanic reports whether the error of a log line is a panic that was recovered outside Reconcile.
func isPanic(text string) bool {
	return (strings.HasPrefix(text, "panic: ") || strings.Contains(text, ": panic: ")) && !strings.HasSuffix(text, "[recovered]")
}

// countsPanics counts the error lines about panics. It passes all lines to the next handler.
type countsPanics struct {
	slog.Handler
	panics *Panics
}

func (c *countsPanics) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError && isPanic(errorOf(r)) {
		c.panics.add()
	}
	return c.Handler.Handle(ctx, r)
}

func (c *countsPanics) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &countsPanics{c.Handler.WithAttrs(attrs), c.panics}
}

func (c *countsPanics) WithGroup(name string) slog.Handler {
	return &countsPanics{c.Handler.WithGroup(name), c.panics}
}
