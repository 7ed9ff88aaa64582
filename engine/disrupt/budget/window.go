package budget

import (
	"fmt"
	"time"

	"github.com/robfig/cron/v3"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// maxWindows bounds how many changes of budgets opens looks at.
const maxWindows = 400

// Reopens returns when the schedules of the pool's budgets next allow more nodes to be disrupted for the reason than count
// against them now. ok is false if that is the case already, if it does not happen within maxWindows changes of the
// budgets, or if no budget has a schedule.
func (b *NodePools) Reopens(pool *model.Pool, reason apiv1.DisruptionReason, now time.Time) (at time.Time, ok bool) {
	a := b.pools[pool.Name]
	if a == nil || a.Left(reason) > 0 {
		return time.Time{}, false
	}
	return opens(pool.Object.Spec.Disruption.Budgets, reason, a.Nodes, a.Consuming(reason), now)
}

// opens returns the first change of budgets after now at which they allow more than used of the nodes to be disrupted for
// the reason. ok is false if maxWindows changes bring none.
func opens(budgets []apiv1.Budget, reason apiv1.DisruptionReason, nodes, used int, now time.Time) (at time.Time, ok bool) {
	at = now
	for range maxWindows {
		if at = nextChange(budgets, at); at.IsZero() {
			return time.Time{}, false
		}
		if n, _ := allowed(budgets, reason, nodes, at); n > used {
			return at, true
		}
	}
	return time.Time{}, false
}

// nextChange returns the first time after t at which a budget opens or closes by its schedule, zero if there is none.
func nextChange(budgets []apiv1.Budget, t time.Time) (first time.Time) {
	consider := func(at time.Time) {
		if !at.IsZero() && at.After(t) && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	for _, b := range budgets {
		if b.Schedule == nil || b.Duration == nil {
			continue
		}
		schedule, err := cron.ParseStandard("TZ=UTC " + *b.Schedule)
		if err != nil {
			continue
		}
		consider(schedule.Next(t.UTC()))
		if hit := schedule.Next(t.UTC().Add(-b.Duration.Duration)); !hit.IsZero() {
			consider(hit.Add(b.Duration.Duration))
		}
	}
	return first
}

// hint returns the change that makes budgets that allow no disruption allow one, and when their schedules do.
func hint(pool string, budgets []apiv1.Budget, reason apiv1.DisruptionReason, nodes int, now time.Time) string {
	text := fmt.Sprintf("allow nodes in spec.disruption.budgets of NodePool %q", pool)
	if at, ok := opens(budgets, reason, nodes, 0, now); ok {
		text += ", or wait until " + at.UTC().Format("2006-01-02 15:04") + " UTC, when they allow some"
	}
	return text
}
