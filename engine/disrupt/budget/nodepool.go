package budget

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
	"github.com/karpenter-go/karpenter/engine/disrupt/status"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Reasons are the reasons that budgets may name.
var Reasons = [...]apiv1.DisruptionReason{
	apiv1.DisruptionReasonEmpty, apiv1.DisruptionReasonDrifted, apiv1.DisruptionReasonUnderutilized,
}

// NodePools holds the state of the disruption budgets of all NodePools. A disrupted node counts for every reason.
type NodePools struct {
	pools map[string]*Allowance
	// simulated counts nodes without a claim, too, and does not require that nodes are ready.
	simulated bool
}

// An Allowance is the state of one pool's budgets.
type Allowance struct {
	// Nodes are the pool's initialized nodes. Disrupting are those of them that are being disrupted or not ready.
	Nodes, Disrupting int
	// Allowed is how many nodes may be disrupting at a time, by reason.
	Allowed map[apiv1.DisruptionReason]int
	// Names is the budget in force, by reason, as it is written in the NodePool.
	Names map[apiv1.DisruptionReason]string
}

// Left returns how many more nodes may be disrupted.
func (a *Allowance) Left(reason apiv1.DisruptionReason) int {
	return max(0, a.Allowed[reason]-a.Disrupting)
}

// Of counts the nodes of every pool and reads its budgets as of s.Now. Simulated tells to count nodes without a claim, too.
func Of(s *model.Snapshot, simulated bool) *NodePools {
	b := &NodePools{pools: map[string]*Allowance{}, simulated: simulated}
	for _, p := range s.Pools() {
		b.pools[p.Name] = &Allowance{
			Allowed: map[apiv1.DisruptionReason]int{}, Names: map[apiv1.DisruptionReason]string{},
		}
	}
	pools := map[string]string{} // of the nodes that count, by their claims
	for _, n := range s.Nodes() {
		a := b.pools[n.Pool]
		if a == nil || !b.counts(n) {
			continue
		}
		a.Nodes++
		if b.disrupting(n) {
			a.Disrupting++
		}
		if n.Claim != nil {
			pools[n.Claim.Name] = n.Pool
		}
	}
	doubles := map[string]int{}
	for _, n := range s.Nodes() {
		if b.pools[n.Pool] != nil && b.counts(n) && double(n, pools) {
			doubles[n.Pool]++
		}
	}
	for _, p := range s.Pools() {
		a := b.pools[p.Name]
		for _, reason := range Reasons {
			a.Allowed[reason], a.Names[reason] = allowed(p.Object.Spec.Disruption.Budgets, reason, a.Nodes-doubles[p.Name], s.Now)
		}
	}
	return b
}

// double reports whether n replaces a node of its own pool that still counts. The two are one node of the number that a
// percentage refers to. Otherwise each replacement that is initialized would let more nodes be disrupted at a time.
func double(n *model.Node, pools map[string]string) bool {
	return slices.ContainsFunc(status.Replaces(n), func(claim string) bool {
		pool, counts := pools[claim]
		return counts && pool == n.Pool
	})
}

// Clone returns a copy that can be changed by itself.
func (b *NodePools) Clone() *NodePools {
	c := &NodePools{pools: make(map[string]*Allowance, len(b.pools)), simulated: b.simulated}
	for name, a := range b.pools {
		own := *a
		c.pools[name] = &own
	}
	return c
}

// Of returns the allowance of the pool, nil if there is no such pool.
func (b *NodePools) Of(pool string) *Allowance { return b.pools[pool] }

// Allow is a yes if the nodes, given by the names of their pools, may all be disrupted. A no names the budget.
func (b *NodePools) Allow(pools []string, reason apiv1.DisruptionReason) model.Verdict {
	want := map[string]int{}
	for _, pool := range pools {
		want[pool]++
	}
	for _, pool := range pools {
		a := b.pools[pool]
		if a == nil {
			return model.Verdict{Rule: model.RulePolicy, Subject: fmt.Sprintf("NodePool %q does not exist", pool)}
		}
		if a.Left(reason) < want[pool] {
			return model.Verdict{Rule: model.RuleBudget, Subject: fmt.Sprintf("%q of pool %s", a.Names[reason], pool)}
		}
	}
	return model.Verdict{}
}

// Take counts a node of each of the pools as disrupted. Allow must have said yes.
func (b *NodePools) Take(pools []string) {
	for _, pool := range pools {
		b.pools[pool].Disrupting++
	}
}

// Force counts a node as disrupted whatever the budgets allow, unless it counts as that already.
func (b *NodePools) Force(n *model.Node) {
	if a := b.pools[n.Pool]; a != nil && b.counts(n) && !b.disrupting(n) {
		a.Disrupting++
	}
}

// disrupting reports whether the node uses up budgets as it is: it is deleted, marked or not ready.
func (b *NodePools) disrupting(n *model.Node) bool {
	return n.Deleting || status.Disrupting(n) || !ready(n) && !b.simulated
}

// allowed returns the smallest number of nodes that an active budget for the reason allows of n, and that budget. Without
// an active budget there is no bound. A budget that cannot be parsed allows none, because it was set to hold something back.
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

// value returns how many of n nodes b allows, and whether it is active. Percentages round up, as in upstream Karpenter: one
// per cent of a small pool still allows one node.
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

// window reports whether b is in force: always without a schedule, otherwise from each hit of the schedule, in UTC, for the
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

// counts reports whether percentages refer to the node: it is initialized, and the cloud is not ending its instance.
func (b *NodePools) counts(n *model.Node) bool {
	if !n.Managed() {
		return b.simulated
	}
	return (n.Initialized || b.simulated && n.Object != nil) && !condition.IsTrue(n.Claim, apiv1.ConditionTypeInstanceTerminating)
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
