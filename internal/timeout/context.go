package timeout

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Context returns a context that is done when ctx is, when cancel is called, or when d has passed by the clock c. In the
// last case its error is context.DeadlineExceeded. If d is not positive, it is done at once. Its method Deadline returns
// only the deadline of ctx, because callers compare deadlines with the machine's clock. The caller must call cancel.
func Context(ctx context.Context, c clock.Clock, d time.Duration) (_ context.Context, cancel context.CancelFunc) {
	t := &timed{Context: ctx, done: make(chan struct{})}
	if d <= 0 {
		t.end(context.DeadlineExceeded)
		return t, func() {}
	}
	timer := c.NewTimer(d)
	go func() {
		defer timer.Stop()
		select {
		case <-timer.C():
			t.end(context.DeadlineExceeded)
		case <-ctx.Done():
			t.end(ctx.Err())
		case <-t.done:
		}
	}()
	return t, func() { t.end(context.Canceled) }
}

// A timed is a context that Context ends.
type timed struct {
	context.Context // provides the values and the deadline

	mu   sync.Mutex // guards err, and closing done
	err  error
	done chan struct{}
}

var _ context.Context = (*timed)(nil)

// end ends the context with the error. Only the first call counts.
func (t *timed) end(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = err
		close(t.done)
	}
}

// Done implements context.Context.
func (t *timed) Done() <-chan struct{} { return t.done }

// Err implements context.Context.
func (t *timed) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}
