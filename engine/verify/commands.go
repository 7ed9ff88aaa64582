package verify

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Commands is Rules.Commands with label rules only.
func Commands(s *model.Snapshot, expected []model.Placement, commands []model.Command, labels ...apiv1.LabelRules) []Violation {
	return Rules{Labels: apiv1.LabelRules{}.With(labels...)}.Commands(s, expected, commands)
}

// Commands checks commands that were decided on s, all together, and returns their violations. Each node to remove must
// exist and be in one command only. Each of its pods must have a place in the resulting cluster. That does not hold for
// commands for expiry or repair, for nodes of static NodePools, and for nodes that are terminated first. Removed nodes count
// against limits. A consolidation must save money whichever options are launched.
//
// Expected are the placements of pods that already need a place, also of pods on nodes whose disruption has begun. They count
// as bound, because nodes are removed only after their replacements are initialized. They are not checked themselves:
// Rules.Plan checks them.
//
// Disruption budgets are not checked, because they depend on all disruptions in progress.
func (r Rules) Commands(s *model.Snapshot, expected []model.Placement, commands []model.Command) []Violation {
	c := &commandChecker{snapshot: s, plan: &model.Plan{}, gone: map[string]bool{}, placed: map[string]bool{}}
	bound := disruptedAsDeleted(s).Bound(expected)
	var removed []*model.Node // those of bound
	for i := range commands {
		c.nodes(&commands[i])
		for _, n := range commands[i].Nodes {
			if own, ok := bound.NodeByName(n.Name); ok {
				removed = append(removed, own)
			}
		}
	}
	c.after = bound.Without(removed...)
	for i := range commands {
		c.command(&commands[i])
	}
	if s.Coverage() != nil && len(c.consolidated) > 0 { // otherwise each consolidation can be checked by itself
		c.cheaper(c.consolidated, c.replacements, "with the nodes of all consolidations costs %v beyond commitments")
	}
	c.everyPod(commands)
	for _, v := range r.plan(c.after, c.plan, removed) {
		if v.Rule != RuleAccount {
			c.found = append(c.found, v)
		}
	}
	return c.found
}

// disruptedAsDeleted returns s with a deletion timestamp on the claim of each node whose disruption has begun: it has a taint
// or a condition. The expected placements have places for the pods of such nodes.
func disruptedAsDeleted(s *model.Snapshot) *model.Snapshot {
	var change model.Delta
	for _, n := range s.Nodes() {
		if n.Claim == nil || leaving(n) {
			continue
		}
		// A node that is rebooted has the condition as well, but it stays.
		if n.Disrupted() || condition.IsTrue(n.Claim, apiv1.ConditionTypeDisruptionReason) && !n.Rebooting() {
			claim := *n.Claim
			claim.DeletionTimestamp = &metav1.Time{Time: s.Now}
			change.Claims = append(change.Claims, &claim)
		}
	}
	return s.Apply(change)
}

// A commandChecker checks commands. It holds the nodes and pods seen so far, and the violations.
type commandChecker struct {
	// snapshot is the cluster before the commands, after the one without the nodes that they remove. plan has the placements and
	// replacements of all commands.
	snapshot, after *model.Snapshot
	plan            *model.Plan
	gone, placed    map[string]bool // nodes by name, pods by key
	found           []Violation
	// consolidated are the nodes that consolidations remove, replacements the highest price of their replacements.
	consolidated []*model.Node
	replacements float64
}

func (c *commandChecker) add(rule Rule, node, pod, format string, args ...any) {
	c.found = append(c.found, Violation{Rule: rule, Node: node, Pod: pod, Detail: fmt.Sprintf(format, args...)})
}

// nodes checks that the nodes of the command exist and are removed once. Only a forced removal may begin again.
func (c *commandChecker) nodes(cmd *model.Command) {
	if len(cmd.Nodes) == 0 {
		c.add(RuleNode, "", "", "a command removes no node")
	}
	for _, n := range cmd.Nodes {
		switch known, ok := c.snapshot.NodeByName(n.Name); {
		case !ok || known != n:
			c.add(RuleNode, n.Name, "", "is not in the snapshot as it is in the command")
		case leaving(n) && !cmd.Force:
			c.add(RuleNode, n.Name, "", "is being deleted already")
		case c.gone[n.Name]:
			c.add(RuleNode, n.Name, "", "is removed twice")
		}
		c.gone[n.Name] = true
	}
}

// command adds the placements and replacements of the command to the plan. If it is a consolidation, it also checks that it
// saves money.
func (c *commandChecker) command(cmd *model.Command) {
	for _, pl := range cmd.Placements {
		n, ok := c.after.NodeByName(pl.Node.Name)
		if !ok {
			c.add(RuleNode, pl.Node.Name, "", "is to take pods, and is removed itself")
			continue
		}
		c.plan.Placements = append(c.plan.Placements, model.Placement{Node: n, Pods: c.pods(pl.Pods)})
	}
	price := 0.0
	for _, n := range cmd.Replacements {
		price += worst(&n)
		n.Pods = c.pods(n.Pods)
		if len(n.Pods) > 0 { // a node of a static pool has no pods
			c.plan.Nodes = append(c.plan.Nodes, n)
			c.plan.Price += n.Offering.Price
		}
	}
	if cmd.Reason == apiv1.DisruptionReasonUnderutilized && len(cmd.Nodes) > 0 {
		c.cheaper(cmd.Nodes, price, "costs %v with the other nodes of the command")
		c.consolidated, c.replacements = append(c.consolidated, cmd.Nodes...), c.replacements+price
	}
}

// pods returns the pods of the snapshot after for the given pods, and marks them as placed.
func (c *commandChecker) pods(pods []*model.Pod) []*model.Pod {
	var out []*model.Pod
	for _, p := range pods {
		known, ok := c.after.Pods.Get(p.Key)
		if !ok {
			c.add(RuleAccount, "", p.Key, "is not in the snapshot")
			continue
		}
		if c.placed[p.Key] {
			c.add(RuleAccount, "", p.Key, "is placed twice")
		}
		c.placed[p.Key] = true
		out = append(out, known)
	}
	return out
}

// everyPod checks that each pod that must move is placed. See Commands for the exceptions.
func (c *commandChecker) everyPod(commands []model.Command) {
	reasons := []apiv1.DisruptionReason{
		apiv1.DisruptionReasonDrifted, apiv1.DisruptionReasonUnderutilized, apiv1.DisruptionReasonEmpty,
	}
	for i := range commands {
		// A node of a static pool is replaced regardless of its pods. If a node is terminated first, the capacity for its pods
		// exists only when it is gone.
		cmd := &commands[i]
		if !slices.Contains(reasons, cmd.Reason) || cmd.Method == "static" || cmd.TerminateFirst != "" {
			continue
		}
		for _, n := range cmd.Nodes {
			for _, p := range n.Reschedulable() {
				if _, waits := c.after.Pods.Get(p.Key); waits && !c.placed[p.Key] {
					c.add(RuleAccount, n.Name, p.Key, "must move, and is not placed")
				}
			}
		}
	}
}

// cheaper checks that the replacements cost less than the nodes, whichever options are launched. costs says what the nodes
// cost, with %v for the amount.
func (c *commandChecker) cheaper(nodes []*model.Node, replacements float64, costs string) {
	have, names := 0.0, make([]string, len(nodes))
	for i, n := range nodes {
		if names[i] = n.Name; !c.snapshot.Coverage().Has(n.Name) {
			have += priceOf(c.snapshot, n)
		}
	}
	have += c.snapshot.Coverage().Released(names...) // by how much the bill falls when the nodes end, in dollars per hour
	if !(replacements < have) {
		c.add(RulePrice, nodes[0].Name, "", costs+", the replacements up to %v", have, replacements)
	}
}

// worst returns the highest price at which the node may be launched, over all types and zones. Each type has the first
// available capacity type of reserved, spot and on-demand. If a commitment covers the node, it covers all offerings, and any
// of them may be launched (see checkCovered).
func worst(n *model.PlannedNode) float64 {
	most, id := 0.0, n.Offering.Commitment
	for _, t := range n.Options {
		for _, ct := range []string{apiv1.CapacityTypeReserved, apiv1.CapacityTypeSpot, apiv1.CapacityTypeOnDemand} {
			found := false
			for _, o := range t.Offerings {
				if _, ok := n.Requirements.Intersects(o.Requirements); ok && o.Launchable() && o.CapacityType == ct {
					most, found = max(most, coveredPrice(o, id)), true
				}
			}
			if found && id == "" {
				break
			}
		}
	}
	return most
}

// priceOf returns the price of an existing node, zero if it is not known.
func priceOf(s *model.Snapshot, n *model.Node) float64 {
	for _, t := range s.Types(n.Pool) {
		for _, o := range t.Offerings {
			if t.Name == n.Labels[corev1.LabelInstanceTypeStable] && o.Zone == n.Labels[corev1.LabelTopologyZone] &&
				o.CapacityType == n.Labels[apiv1.CapacityTypeLabelKey] {
				return o.Price
			}
		}
	}
	return 0
}
