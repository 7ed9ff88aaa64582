package budget

import (
	"fmt"
	"time"

	"github.com/robfig/cron/v3"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// maxWindows bounds how many ends of budgets NextWindow looks at.
const maxWindows = 50

// NextWindow returns the next time at which the budgets allow a disruption of n nodes for the reason. ok is false if they
// allow one now, or if no end of an active budget is known at which they do.
func NextWindow(budgets []apiv1.Budget, reason apiv1.DisruptionReason, n int, now time.Time) (at time.Time, ok bool) {
	at = now
	for range maxWindows {
		if v, _ := allowed(budgets, reason, n, at); v > 0 {
			return at, at.After(now)
		}
		next := time.Time{}
		for _, b := range budgets {
			if end, active := endOf(b, at); active && (next.IsZero() || end.Before(next)) {
				next = end
			}
		}
		if next.IsZero() {
			return time.Time{}, false
		}
		at = next
	}
	return time.Time{}, false
}

// endOf returns the end of the current window of a budget with a schedule, if it is active.
func endOf(b apiv1.Budget, now time.Time) (end time.Time, active bool) {
	if b.Schedule == nil || b.Duration == nil {
		return time.Time{}, false
	}
	schedule, err := cron.ParseStandard("TZ=UTC " + *b.Schedule)
	if err != nil {
		return time.Time{}, false
	}
	last := time.Time{}
	hit := schedule.Next(now.UTC().Add(-b.Duration.Duration))
	for range maxWindows {
		if hit.IsZero() || hit.After(now) {
			break
		}
		last, hit = hit, schedule.Next(hit)
	}
	if last.IsZero() {
		return time.Time{}, false
	}
	return last.Add(b.Duration.Duration), true
}

// hint returns the change that makes a budget that allows nothing allow a disruption, and the next window if one opens.
func hint(pool string, budgets []apiv1.Budget, reason apiv1.DisruptionReason, n int, now time.Time) string {
	text := fmt.Sprintf("allow nodes in spec.disruption.budgets of NodePool %q", pool)
	if at, ok := NextWindow(budgets, reason, n, now); ok {
		text += ", or wait until " + at.UTC().Format("2006-01-02 15:04") + " UTC, when they allow some"
	}
	return text
}
