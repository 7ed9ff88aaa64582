package prices

import (
	"context"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/karpenter-go/karpenter/provider/aws/fault"
	"github.com/karpenter-go/karpenter/provider/aws/periodic"
)

const (
	refreshEvery = 12 * time.Hour
	// retryFirst and retryLongest bound the pause after a failed refresh; it doubles in between.
	retryFirst   = time.Minute
	retryLongest = time.Hour
)

// Task refreshes the book every twelve hours. A failure is logged once, until a refresh succeeds again.
func (b *Book) Task(c clock.PassiveClock) periodic.Task {
	failed := false
	pause := retryFirst
	return periodic.Task{Label: "providers.pricing", Run: func(ctx context.Context) (time.Duration, error) {
		err := b.Refresh(ctx, c.Now())
		if err == nil {
			if failed {
				log.FromContext(ctx).Info("refreshed prices after errors")
			}
			failed, pause = false, retryFirst
			return refreshEvery, nil
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		if !failed {
			log.FromContext(ctx).Info("failed to refresh prices, using cached prices", "error", fault.Brief(err))
		}
		failed = true
		again := pause
		pause = min(2*pause, retryLongest)
		return again, nil
	}}
}
