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
	// spotEvery and listEvery are the intervals at which spot prices and list prices are read. List prices rarely
	// change.
	spotEvery = time.Hour
	listEvery = 12 * time.Hour
	// retryFirst and retryLongest bound the pause after a failed refresh; it doubles in between.
	retryFirst   = time.Minute
	retryLongest = time.Hour
)

// Task returns the task that refreshes spot prices every hour and list prices every twelve hours. Failures in a row
// are logged once.
func (b *Book) Task(c clock.PassiveClock) periodic.Task {
	failed := false
	pause := retryFirst
	var listed time.Time
	return periodic.Task{Label: "providers.pricing", Run: func(ctx context.Context) (time.Duration, error) {
		now := c.Now()
		refresh, at := b.refreshSpot, listed
		if listed.IsZero() || now.Sub(listed) >= listEvery {
			refresh, at = b.Refresh, now
		}
		err := refresh(ctx, now)
		if err == nil {
			listed = at
			if failed {
				log.FromContext(ctx).Info("refreshed prices after errors")
			}
			failed, pause = false, retryFirst
			return spotEvery, nil
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
