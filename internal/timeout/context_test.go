package timeout_test

import (
	"context"
	"errors"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/karpenter-go/karpenter/internal/timeout"
)

type key struct{}

// A context ends by its clock, its parent or its cancel function, whichever comes first, and Err returns the cause. The same
// holds for contexts that are derived from it.
func TestContext(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(c *clocktesting.FakeClock, parent, own context.CancelFunc)
		want error
	}{
		{"clock", func(c *clocktesting.FakeClock, _, _ context.CancelFunc) { c.Step(time.Minute) }, context.DeadlineExceeded},
		{"parent", func(_ *clocktesting.FakeClock, parent, _ context.CancelFunc) { parent() }, context.Canceled},
		{"cancel", func(_ *clocktesting.FakeClock, _, own context.CancelFunc) { own() }, context.Canceled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := clocktesting.NewFakeClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
			parent, cancelParent := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
			defer cancelParent()
			ctx, cancel := timeout.Context(parent, c, time.Minute)
			defer cancel()
			child, cancelChild := context.WithCancel(ctx)
			defer cancelChild()
			c.Step(59 * time.Second)
			if _, told := ctx.Deadline(); ctx.Err() != nil || child.Err() != nil || told || ctx.Value(key{}) != "value" {
				t.Fatalf("before: %v, %v, a deadline %v, value %v", ctx.Err(), child.Err(), told, ctx.Value(key{}))
			}
			tt.end(c, cancelParent, cancel)
			<-ctx.Done()
			<-child.Done()
			if !errors.Is(ctx.Err(), tt.want) || !errors.Is(child.Err(), tt.want) {
				t.Errorf("ended with %v, its child with %v; want %v", ctx.Err(), child.Err(), tt.want)
			}
			cancel()
			if !errors.Is(ctx.Err(), tt.want) {
				t.Errorf("after cancel: %v", ctx.Err())
			}
		})
	}
}

// A context with a timeout of zero has ended from the start.
func TestContextOfNoTime(t *testing.T) {
	ctx, cancel := timeout.Context(t.Context(), clocktesting.NewFakeClock(time.Unix(0, 0)), 0)
	defer cancel()
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Errorf("error is %v", ctx.Err())
	}
}
