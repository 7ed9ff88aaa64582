package budget

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/status"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Reasons are the disruption reasons that budgets can name.
var Reasons = [...]apiv1.DisruptionReason{
	apiv1.DisruptionReasonEmpty, apiv1.DisruptionReasonDrifted, apiv1.DisruptionReasonUnderutilized,
	apiv1.DisruptionReasonUnhealthy,
}

// NodePools is the state of the disruption budgets of all NodePools. A disrupted node counts against the budgets for all
// reasons. A node that is not ready, and not disrupted, counts for all reasons except Unhealthy (repair).
type NodePools struct {
	pools map[string]*Allowance
	// If simulated is true, nodes without a claim count as well, and a node that is not ready uses no budget.
	simulated bool
}

// An Allowance is the state of the budgets of one pool.
type Allowance struct {
	// Nodes is the number of nodes of which budgets count percentages. These are initialized or being rebooted, and their
	// instance is not being terminated. A node that replaces another such node of the pool is not included. See Counts for
	// a simulation.
	Nodes int
	// Disrupting is how many nodes are being disrupted. NotReady is how many of those that are not being disrupted are not
	// ready. Both include replacements.
	Disrupting, NotReady int
	// Allowed is the maximum number of nodes that may be disrupted at the same time, by reason. Without an active budget it
	// is the largest int32.
	Allowed map[apiv1.DisruptionReason]int
	// Names[reason] is the field nodes of the budget that determines Allowed[reason], such as 10%. It is empty if no budget
	// is active.
	Names map[apiv1.DisruptionReason]string
	// Hints[reason] says how a disruption becomes possible. It is set if Allowed[reason] is 0 and the pool has nodes.
	Hints map[apiv1.DisruptionReason]string
}

// Left returns how many more nodes may be disrupted for the reason.
func (a *Allowance) Left(reason apiv1.DisruptionReason) int {
	return max(0, a.Allowed[reason]-a.Consuming(reason))
}

// Consuming returns how many nodes count against the budgets for the reason. Nodes that are not ready count for every
// reason except repair, because they are what is repaired.
func (a *Allowance) Consuming(reason apiv1.DisruptionReason) int {
	if reason == status.ReasonUnhealthy {
		return a.Disrupting
	}
	return a.Disrupting + a.NotReady
}

// Of computes the state of the budgets of all pools at s.Now. See NodePools for the effect of simulated.
func Of(s *model.Snapshot, simulated bool) *NodePools {
	b := &NodePools{pools: map[string]*Allowance{}, simulated: simulated}
	for _, p := range s.Pools() {
		b.pools[p.Name] = &Allowance{
			Allowed: map[apiv1.DisruptionReason]int{}, Names: map[apiv1.DisruptionReason]string{}, Hints: map[apiv1.DisruptionReason]string{},
		}
	}
	for _, n := range s.Nodes() {
		a := b.pools[n.Pool]
		if a == nil || !b.Counts(n) {
			continue
		}
		if !b.replacesCounted(s, n) {
			a.Nodes++
		}
		switch {
		case disrupting(n):
			a.Disrupting++
		case !ready(n) && !b.simulated:
			a.NotReady++
		}
	}
	for _, p := range s.Pools() {
		a := b.pools[p.Name]
		for _, reason := range Reasons {
			budgets, n := p.Object.Spec.Disruption.Budgets, a.Nodes
			a.Allowed[reason], a.Names[reason] = allowed(budgets, reason, n, s.Now)
			if a.Allowed[reason] == 0 && n > 0 {
				a.Hints[reason] = hint(p.Name, budgets, reason, n, s.Now)
			}
		}
	}
	return b
}

// replacesCounted reports whether n replaces a node of its own pool that still counts. Percentages of budgets then count the two as
// one node. Otherwise each initialized replacement would increase the number of nodes that may be disrupted.
func (b *NodePools) replacesCounted(s *model.Snapshot, n *model.Node) bool {
	return slices.ContainsFunc(status.Replaces(n), func(claim string) bool {
		replaced, ok := s.NodeByName(claim)
		return ok && replaced.Pool == n.Pool && b.Counts(replaced)
	})
}

// Clone returns a copy that can be changed independently.
func (b *NodePools) Clone() *NodePools {
	c := &NodePools{pools: make(map[string]*Allowance, len(b.pools)), simulated: b.simulated}
	for name, a := range b.pools {
		own := *a
		c.pools[name] = &own
	}
	return c
}

// Of returns the allowance of the pool, nil if the pool does not exist.
func (b *NodePools) Of(pool string) *Allowance { return b.pools[pool] }

// Allow returns a refusal if not all of a set of nodes may be disrupted for the reason. pools has the name of the pool of
// each node. The refusal names the budget, or the pool that does not exist.
func (b *NodePools) Allow(pools []string, reason apiv1.DisruptionReason) model.Verdict {
	want := map[string]int{}
	for _, pool := range pools {
		want[pool]++
	}
	for _, pool := range pools {
		a := b.pools[pool]
		if a == nil {
			return model.Verdict{Rule: model.RulePolicy, Cause: model.CauseNoNodePool, Key: pool}
		}
		if a.Left(reason) < want[pool] {
			return model.Verdict{Rule: model.RuleBudget, Key: pool, Subject: a.Names[reason], Hint: a.Hints[reason]}
		}
	}
	return model.Verdict{}
}

// Take counts one more node as disrupted for each entry of pools. Allow must have returned OK for these pools. As in
// upstream Karpenter, a node that is not ready counts twice until the budgets are computed again.
func (b *NodePools) Take(pools []string) {
	for _, pool := range pools {
		b.pools[pool].Disrupting++
	}
}

// TakeForced counts a node as disrupted, unless it already counts as disrupted or budgets do not count it at all. It ignores the
// bounds of budgets.
func (b *NodePools) TakeForced(n *model.Node) {
	a := b.pools[n.Pool]
	if a == nil || !b.Counts(n) || disrupting(n) {
		return
	}
	a.Disrupting++
	if !ready(n) && !b.simulated {
		a.NotReady--
	}
}

// disrupting reports whether the node is being deleted, marked or rebooted.
func disrupting(n *model.Node) bool { return n.Deleting || status.Disrupting(n) || n.Rebooting() }

// allowed returns the lowest number of nodes that an active budget for the reason allows of n nodes, and the field nodes of
// that budget. Without an active budget it returns the largest int32 and an empty text. A budget that cannot be parsed
// allows none.
func allowed(budgets []apiv1.Budget, reason apiv1.DisruptionReason, n int, now time.Time) (int, string) {
	least, name := math.MaxInt32, ""
	for _, b := range budgets {
		if len(b.Reasons) > 0 && !slices.Contains(b.Reasons, reason) {
			continue
		}
		v, active := Allowed(b, n, now)
		if active && v < least {
			least, name = v, b.Nodes
		}
	}
	return least, name
}

// Allowed returns how many of n nodes the budget alone allows to be disrupted at the same time, and whether it is active. As
// in upstream Karpenter, percentages round up: 1% of a small pool still allows one node. A budget whose schedule cannot be
// parsed is active and allows none. An active budget whose field nodes cannot be parsed allows none.
func Allowed(b apiv1.Budget, n int, now time.Time) (v int, active bool) {
	open, err := isOpen(b, now)
	number, percent := strings.CutSuffix(b.Nodes, "%")
	v, invalid := strconv.Atoi(number)
	switch {
	case err != nil || open && invalid != nil:
		return 0, true
	case !open:
		return 0, false
	case percent:
		return (n*v + 99) / 100, true
	}
	return v, true
}

// isOpen reports whether b is active. A budget without schedule and duration is always active. One with only one of the two
// is never active. Otherwise b is active for its duration from each time of the schedule, in UTC.
func isOpen(b apiv1.Budget, now time.Time) (bool, error) {
	if b.Schedule == nil || b.Duration == nil {
		return b.Schedule == nil && b.Duration == nil, nil
	}
	schedule, err := scheduleOf(b)
	if err != nil {
		return false, err
	}
	hit := schedule.Next(now.UTC().Add(-b.Duration.Duration))
	return !hit.IsZero() && !hit.After(now), nil // zero if the schedule has no time, such as February 30
}

// Counts reports whether budgets count the node. It must be initialized or being rebooted, and the termination of its
// instance must not have begun. If b is simulated, a Kubernetes node that is not initialized or has no claim counts as well.
func (b *NodePools) Counts(n *model.Node) bool {
	if !n.Managed() {
		return b.simulated
	}
	return (n.Initialized || n.Rebooting() || b.simulated && n.Object != nil) && !condition.IsTrue(n.Claim, apiv1.ConditionTypeInstanceTerminating)
}

func ready(n *model.Node) bool {
	return n.Object != nil && model.Readiness(n.Object) == corev1.ConditionTrue
}
