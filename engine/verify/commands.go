package verify

import (
	"fmt"

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
	c := &commandChecker{gone: map[string]bool{}, placed: map[string]bool{}}
	bound := disruptedAsDeleted(s).Bound(expected)
	var nodes []*model.Node
	for i := range commands {
		c.nodes(s, &commands[i])
		for _, n := range commands[i].Nodes {
			if own, ok := bound.NodeByName(n.Name); ok {
				nodes = append(nodes, own)
			}
		}
	}
	after := bound.Without(nodes...)
	plan := &model.Plan{}
	for i := range commands {
		c.command(s, after, &commands[i], plan)
	}
	c.consolidations(s, c.consolidated, c.replacements)
	c.everyPod(after, commands)
	for _, v := range r.plan(after, plan, nodes) {
		if v.Rule != RuleAccount {
			c.found = append(c.found, v)
		}
	}
	return c.found
}

// disruptedAsDeleted returns s with a deletion timestamp on the claim of each node whose disruption has begun. The expected
// placements have places for the pods of such nodes.
func disruptedAsDeleted(s *model.Snapshot) *model.Snapshot {
	var change model.Delta
	for _, n := range s.Nodes() {
		if n.Claim != nil && !leaving(n) && disrupted(n) {
			claim := *n.Claim
			claim.DeletionTimestamp = &metav1.Time{Time: s.Now}
			change.Claims = append(change.Claims, &claim)
		}
	}
	return s.Apply(change)
}

// disrupted reports whether the disruption of the node has begun. The node has a taint or a condition then. A node that is
// rebooted has the condition as well, but it stays.
func disrupted(n *model.Node) bool {
	return n.Disrupted() || condition.IsTrue(n.Claim, apiv1.ConditionTypeDisruptionReason) && !n.Rebooting()
}

// A commandChecker checks commands. It holds the nodes and pods seen so far, and the violations.
type commandChecker struct {
	gone, placed map[string]bool // nodes by name, pods by key
	found        []Violation
	// consolidated are the nodes that consolidations remove, replacements the highest price of their replacements.
	consolidated []*model.Node
	replacements float64
}

func (c *commandChecker) add(rule Rule, node, pod, format string, args ...any) {
	c.found = append(c.found, Violation{Rule: rule, Node: node, Pod: pod, Detail: fmt.Sprintf(format, args...)})
}

// nodes checks that the nodes of the command exist and are removed once.
func (c *commandChecker) nodes(s *model.Snapshot, cmd *model.Command) {
	if len(cmd.Nodes) == 0 {
		c.add(RuleNode, "", "", "a command removes no node")
	}
	for _, n := range cmd.Nodes {
		switch known, ok := s.NodeByName(n.Name); {
		case !ok || known != n:
			c.add(RuleNode, n.Name, "", "is not in the snapshot as it is in the command")
		case leaving(n):
			c.add(RuleNode, n.Name, "", "is being deleted already")
		case c.gone[n.Name]:
			c.add(RuleNode, n.Name, "", "is removed twice")
		}
		c.gone[n.Name] = true
	}
}

// command adds the placements and replacements of the command to the plan. If it is a consolidation, it also checks that it
// saves money.
func (c *commandChecker) command(s, after *model.Snapshot, cmd *model.Command, plan *model.Plan) {
	for _, pl := range cmd.Placements {
		n, ok := after.NodeByName(pl.Node.Name)
		if !ok {
			c.add(RuleNode, pl.Node.Name, "", "is to take pods, and is removed itself")
			continue
		}
		plan.Placements = append(plan.Placements, model.Placement{Node: n, Pods: c.pods(after, pl.Pods)})
	}
	price := 0.0
	for _, n := range cmd.Replacements {
		price += worst(&n)
		n.Pods = c.pods(after, n.Pods)
		if len(n.Pods) > 0 { // a node of a static pool has no pods
			plan.Nodes = append(plan.Nodes, n)
			plan.Price += n.Offering.Price
		}
	}
	if cmd.Reason == apiv1.DisruptionReasonUnderutilized && len(cmd.Nodes) > 0 {
		c.cheaper(s, cmd, price)
		c.consolidated, c.replacements = append(c.consolidated, cmd.Nodes...), c.replacements+price
	}
}

// pods returns the pods of the snapshot after, which is without the removed nodes, for the given pods. It marks them as
// placed.
func (c *commandChecker) pods(after *model.Snapshot, pods []*model.Pod) []*model.Pod {
	var out []*model.Pod
	for _, p := range pods {
		known, ok := after.Pods.Get(p.Key)
		switch {
		case !ok:
			c.add(RuleAccount, "", p.Key, "is not in the snapshot")
			continue
		case c.placed[p.Key]:
			c.add(RuleAccount, "", p.Key, "is placed twice")
		}
		c.placed[p.Key] = true
		out = append(out, known)
	}
	return out
}

// everyPod checks that each pod that must move is placed. See Commands for the exceptions.
func (c *commandChecker) everyPod(after *model.Snapshot, commands []model.Command) {
	for i := range commands {
		switch commands[i].Reason {
		case apiv1.DisruptionReasonDrifted, apiv1.DisruptionReasonUnderutilized, apiv1.DisruptionReasonEmpty:
		default:
			continue
		}
		if commands[i].Method == "static" || commands[i].TerminateFirst != "" {
			// A node of a static pool is replaced regardless of its pods. If a node is terminated first, the capacity
			// for its pods exists only when it is gone.
			continue
		}
		for _, n := range commands[i].Nodes {
			for _, p := range n.Reschedulable() {
				if _, waits := after.Pods.Get(p.Key); waits && !c.placed[p.Key] {
					c.add(RuleAccount, n.Name, p.Key, "must move, and is not placed")
				}
			}
		}
	}
}

// cheaper checks that the replacements cost less than the nodes, whichever options are launched.
func (c *commandChecker) cheaper(s *model.Snapshot, cmd *model.Command, replacements float64) {
	have := priceOfSet(s, cmd.Nodes)
	if !(replacements < have) {
		c.add(RulePrice, cmd.Nodes[0].Name, "", "costs %v with the other nodes of the command, the replacements up to %v", have, replacements)
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
