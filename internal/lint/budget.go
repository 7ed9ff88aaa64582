package lint

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// reasons are all reasons that a budget can be for.
var reasons = []apiv1.DisruptionReason{
	apiv1.DisruptionReasonUnderutilized, apiv1.DisruptionReasonEmpty, apiv1.DisruptionReasonDrifted,
}

// from and until bound the time in which schedules are looked at: four years, so that a 29th of February is in it. They are
// fixed, so that the answer is the same on any day.
var (
	from  = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	until = from.AddDate(4, 0, 0)
)

// budgets finds budgets that never open, and ones that never count.
func (l *linter) budgets(p *pool) {
	closed := map[apiv1.DisruptionReason]bool{}
	for i, b := range p.pool.Spec.Disruption.Budgets {
		field := fmt.Sprintf("spec.disruption.budgets[%d]", i)
		always, never := coverage(b)
		if never {
			l.at(p.object, "budget-never-active", field+".schedule", "correct the schedule: minute, hour, day of month, month, day of"+
				" week, in UTC", "the schedule %q never comes, so the budget never counts", *b.Schedule)
			continue
		}
		if strings.TrimRight(b.Nodes, "%") != "0" || !always {
			continue
		}
		which := b.Reasons
		if len(which) == 0 {
			which = reasons
		}
		for _, r := range which {
			closed[r] = true
		}
	}
	if len(closed) == 0 {
		return
	}
	var names []string
	for _, r := range reasons {
		if closed[r] {
			names = append(names, string(r))
		}
	}
	slices.Sort(names)
	l.at(p.object, "budget-blocks-disruption", "spec.disruption.budgets", "give the budget of 0 a schedule and a duration, or allow at"+
		" least one node; to stop consolidation alone, consolidateAfter: Never says it better",
		"a budget of 0 counts at all times, so that no node ever goes for: %s", strings.Join(names, ", "))
}

// coverage reports whether a budget counts at all times, or never. A schedule that cannot be read counts as neither: the
// controller says so itself.
func coverage(b apiv1.Budget) (always, never bool) {
	if b.Schedule == nil || b.Duration == nil {
		return true, false
	}
	schedule, err := cron.ParseStandard("TZ=UTC " + *b.Schedule)
	if err != nil {
		return false, false
	}
	start := schedule.Next(from)
	if start.IsZero() || start.After(until) {
		return false, true
	}
	for range 2000 { // far enough to see every weekday, month and length of month
		next := schedule.Next(start)
		if next.IsZero() || next.After(start.Add(b.Duration.Duration)) {
			return false, false
		}
		if next.After(until) {
			break
		}
		start = next
	}
	return true, false
}
