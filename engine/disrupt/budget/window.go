package budget

import (
	"errors"
	"fmt"
	"time"

	"github.com/robfig/cron/v3"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// maxWindows is the largest number of changes of budgets that nextOpening examines.
const maxWindows = 400

// Reopens returns the next time at which the schedules of the pool's budgets allow another node to be disrupted for the
// reason. ok is false if the budgets allow one now or none within maxWindows changes. It is also false if no budget has a
// schedule, or if the pool did not exist when b was computed.
func (b *NodePools) Reopens(pool *model.Pool, reason apiv1.DisruptionReason, now time.Time) (at time.Time, ok bool) {
	a := b.pools[pool.Name]
	if a == nil || a.Left(reason) > 0 {
		return time.Time{}, false
	}
	return nextOpening(pool.Object.Spec.Disruption.Budgets, reason, a.Nodes, a.Consuming(reason), now)
}

// nextOpening returns the first change of the budgets after now at which they allow another disruption for the reason. The
// parameter nodes is the number of the pool's nodes, and used is how many of them count against the budgets. ok is false if
// the next maxWindows changes allow none.
func nextOpening(budgets []apiv1.Budget, reason apiv1.DisruptionReason, nodes, used int, now time.Time) (at time.Time, ok bool) {
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

// scheduleOf returns the schedule of the budget in UTC. It returns an error if the budget has no schedule with a duration,
// or if the schedule cannot be parsed.
func scheduleOf(b apiv1.Budget) (cron.Schedule, error) {
	if b.Schedule == nil || b.Duration == nil {
		return nil, errors.New("budget has no schedule with a duration")
	}
	return cron.ParseStandard("TZ=UTC " + *b.Schedule)
}

// nextChange returns the first time after t at which a budget opens or closes by its schedule, zero if there is none.
func nextChange(budgets []apiv1.Budget, t time.Time) (first time.Time) {
	consider := func(at time.Time) {
		if !at.IsZero() && at.After(t) && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	for _, b := range budgets {
		schedule, err := scheduleOf(b)
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

// hint returns advice for budgets that allow no disruption: which field of the NodePool to change, and until when to wait
// if their schedules allow one later.
func hint(pool string, budgets []apiv1.Budget, reason apiv1.DisruptionReason, nodes int, now time.Time) string {
	text := fmt.Sprintf("allow nodes in spec.disruption.budgets of NodePool %q", pool)
	if at, ok := nextOpening(budgets, reason, nodes, 0, now); ok {
		text += ", or wait until " + at.UTC().Format("2006-01-02 15:04") + " UTC, when they allow some"
	}
	return text
}

// Windows returns the periods in which the budget is active by its schedule and that overlap with the time between from
// and until. Each has a begin and an end. There are at most `most` periods, and overlapping or adjacent ones are
// merged. Windows examines at most maxHits times of the schedule. The result is empty if the budget has no schedule or
// no positive duration, or if the schedule cannot be parsed.
func Windows(b apiv1.Budget, from, until time.Time, most int) [][2]time.Time {
	schedule, err := scheduleOf(b)
	if err != nil || b.Duration.Duration <= 0 {
		return nil
	}
	var out [][2]time.Time
	at := from.UTC().Add(-b.Duration.Duration)
	for range maxHits {
		at = schedule.Next(at)
		if at.IsZero() || !at.Before(until) {
			break
		}
		end := at.Add(b.Duration.Duration)
		if last := len(out) - 1; last >= 0 && !at.After(out[last][1]) {
			out[last][1] = end
			continue
		}
		if len(out) == most {
			break
		}
		out = append(out, [2]time.Time{at, end})
	}
	return out
}

// maxHits is the largest number of times of a schedule that Windows examines: those of a week in which each minute is one.
const maxHits = 7*24*60 + 1
