package disrupt

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Reasons are the reasons that budgets may name.
var Reasons = [...]apiv1.DisruptionReason{
	apiv1.DisruptionReasonEmpty, apiv1.DisruptionReasonDrifted, apiv1.DisruptionReasonUnderutilized,
}

// Budgets say how many more nodes of each pool may go, by reason. A node that goes for one reason counts for all of them.
type Budgets struct {
	pools map[string]*Allowance
}

// An Allowance is the state of one pool's budgets.
type Allowance struct {
	// Nodes are the pool's initialized nodes, Disrupting those of them that are on their way out or not ready, and Doubles
	// those that were launched in place of others of the pool that are still there.
	Nodes, Disrupting, Doubles int
	// Allowed is how many nodes may be disrupting at a time, by reason.
	Allowed map[apiv1.DisruptionReason]int
	// Names is the budget in force, by reason, as its owner wrote it.
	Names map[apiv1.DisruptionReason]string
}

// Left returns how many more nodes may go.
func (a *Allowance) Left(reason apiv1.DisruptionReason) int {
	return max(0, a.Allowed[reason]-a.Disrupting)
}

// BudgetsOf counts the nodes of every pool and reads its budgets as of s.Now.
func BudgetsOf(s *model.Snapshot) *Budgets { return budgetsOf(s, false) }

// budgetsOf also counts nodes without a claim if it is a rehearsal.
func budgetsOf(s *model.Snapshot, rehearse bool) *Budgets {
	b := &Budgets{pools: map[string]*Allowance{}}
	for _, p := range s.Pools() {
		b.pools[p.Name] = &Allowance{
			Allowed: map[apiv1.DisruptionReason]int{}, Names: map[apiv1.DisruptionReason]string{},
		}
	}
	pools := map[string]string{} // of the claims of the nodes that count
	for _, n := range s.Nodes() {
		a := b.pools[n.Pool]
		if a == nil || !counted(n, rehearse) {
			continue
		}
		a.Nodes++
		if disrupting(n, rehearse) {
			a.Disrupting++
		}
		if n.Claim != nil {
			pools[n.Claim.Name] = n.Pool
		}
	}
	for _, n := range s.Nodes() {
		if a := b.pools[n.Pool]; a != nil && counted(n, rehearse) && double(n, pools) {
			a.Doubles++
		}
	}
	for _, p := range s.Pools() {
		a := b.pools[p.Name]
		for _, reason := range Reasons {
			a.Allowed[reason], a.Names[reason] = allowed(p.Object.Spec.Disruption.Budgets, reason, a.Nodes-a.Doubles, s.Now)
		}
	}
	return b
}

// double reports whether n replaces a node of its pool that still counts; pools are the pools of those, by their claims. The
// two are one node of the fleet that a percentage is of: else each replacement that comes up would let more nodes go at a
// time than the percentage of the fleet at rest.
func double(n *model.Node, pools map[string]string) bool {
	return slices.ContainsFunc(replaces(n), func(claim string) bool {
		pool, counts := pools[claim]
		return counts && pool == n.Pool
	})
}

// Of returns the allowance of the pool, nil if there is no such pool.
func (b *Budgets) Of(pool string) *Allowance { return b.pools[pool] }

// Take counts one more node of the pool as disrupting. It returns a no, naming the budget, if that is not allowed.
func (b *Budgets) Take(pool string, reason apiv1.DisruptionReason) model.Verdict {
	a := b.pools[pool]
	if a == nil {
		return model.Verdict{Rule: model.RulePolicy, Subject: fmt.Sprintf("NodePool %q does not exist", pool)}
	}
	if a.Left(reason) == 0 {
		return model.Verdict{Rule: model.RuleBudget, Subject: fmt.Sprintf("%q of pool %s", a.Names[reason], pool)}
	}
	a.Disrupting++
	return model.Verdict{}
}

// force counts a node that goes without asking, unless it counts already.
func (b *Budgets) force(n *model.Node, rehearse bool) {
	if a := b.pools[n.Pool]; a != nil && counted(n, rehearse) && !disrupting(n, rehearse) {
		a.Disrupting++
	}
}

// disrupting reports whether the node uses up budgets as it is: on its way out or not ready.
func disrupting(n *model.Node, rehearse bool) bool {
	return n.Deleting || underWay(n) || !ready(n) && !rehearse
}

// allowed returns the smallest number of nodes that an active budget for the reason allows of n, and that budget. Without
// an active budget there is no bound. A budget that cannot be read allows none: it was meant to hold something back.
func allowed(budgets []apiv1.Budget, reason apiv1.DisruptionReason, n int, now time.Time) (int, string) {
	least, name := math.MaxInt32, ""
	for _, b := range budgets {
		if len(b.Reasons) > 0 && !slices.Contains(b.Reasons, reason) {
			continue
		}
		v, active := value(b, n, now)
		if active && v < least {
			least, name = v, b.Nodes
		}
	}
	return least, name
}

// value returns how many of n nodes b allows, and whether it is active. Percentages round up, so that one per cent of a
// small pool still lets one node go. Karpenter keeps this too.
func value(b apiv1.Budget, n int, now time.Time) (v int, active bool) {
	open, err := window(b, now)
	if err != nil {
		return 0, true
	}
	if !open {
		return 0, false
	}
	if percent, ok := strings.CutSuffix(b.Nodes, "%"); ok {
		p, err := strconv.Atoi(percent)
		if err != nil {
			return 0, true
		}
		return (n*p + 99) / 100, true
	}
	v, err = strconv.Atoi(b.Nodes)
	if err != nil {
		return 0, true
	}
	return v, true
}

// window reports whether b is in force: always without a schedule, else from each hit of the schedule, in UTC, for the
// duration.
func window(b apiv1.Budget, now time.Time) (bool, error) {
	if b.Schedule == nil || b.Duration == nil {
		return b.Schedule == nil && b.Duration == nil, nil
	}
	schedule, err := cron.ParseStandard("TZ=UTC " + *b.Schedule)
	if err != nil {
		return false, fmt.Errorf("parse schedule: %w", err)
	}
	hit := schedule.Next(now.UTC().Add(-b.Duration.Duration))
	return !hit.IsZero() && !hit.After(now), nil // zero: it never hits, as on the 30th of February
}

// counted reports whether the node is one of those that percentages are taken of: up, and not being ended by the cloud.
func counted(n *model.Node, rehearse bool) bool {
	if !n.Managed() {
		return rehearse
	}
	return (n.Initialized || rehearse && n.Object != nil) && !condition.IsTrue(n.Claim, apiv1.ConditionTypeInstanceTerminating)
}

func ready(n *model.Node) bool {
	if n.Object == nil {
		return false
	}
	for _, c := range n.Object.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
