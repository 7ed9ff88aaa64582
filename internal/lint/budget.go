package lint

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// reasons are the reasons of budgets that this rule considers. Unhealthy is not among them.
var reasons = []apiv1.DisruptionReason{
	apiv1.DisruptionReasonUnderutilized, apiv1.DisruptionReasonEmpty, apiv1.DisruptionReasonDrifted,
}

// from and until are the period for which schedules are evaluated: four years, so that it contains a 29th of February.
// They are constant, so that the findings do not depend on the current date.
var (
	from  = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	until = from.AddDate(4, 0, 0)
)

// budgets finds disruption budgets of 0 nodes that are always active, and budgets that are never active.
func (l *linter) budgets(p *pool) {
	closed := map[apiv1.DisruptionReason]bool{}
	for i, b := range p.pool.Spec.Disruption.Budgets {
		field := fmt.Sprintf("spec.disruption.budgets[%d]", i)
		always, never := coverage(b)
		if never {
			l.at(p.object, "budget-never-active", field+".schedule", "correct the schedule: minute, hour, day of month, month, day of"+
				" week, in UTC", "schedule %q never fires: the disruption budget has no effect", *b.Schedule)
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
	var names []string
	for _, r := range reasons {
		if closed[r] {
			names = append(names, string(r))
		}
	}
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	l.at(p.object, "budget-blocks-disruption", "spec.disruption.budgets", "set schedule and duration of the disruption budget with"+
		" nodes: \"0\", or allow at least one node; to disable only consolidation, set spec.disruption.consolidateAfter: Never",
		"a disruption budget with nodes: \"0\" is always active and blocks disruption permanently for: %s", strings.Join(names, ", "))
}

// coverage reports whether a budget is always active, or never. Both are false for a schedule that cannot be parsed,
// since the validation of the manifest reports it.
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
	for range 2000 { // enough to cover every weekday, month and length of month
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
