package disrupt

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// unhealthyPercent is how much of a pool, or of the cluster for nodes without a pool, may be unhealthy for any of it to be
// repaired: beyond that the fault is elsewhere, and replacing nodes would make it worse. It rounds up.
const unhealthyPercent = 20

// repair ends the nodes that are beyond repair at once and by force: nothing on them works any more, so budgets,
// do-not-disrupt and disruption budgets of pods are not asked.
func (d *decider) repair() {
	if len(d.o.Repair) == 0 {
		return
	}
	sick, all := map[string]int{}, map[string]int{}
	for _, c := range d.ours {
		if c.node.Deleting || c.node.Object == nil {
			continue
		}
		all[c.node.Pool]++
		if _, ok := d.sickSince(c.node); ok {
			sick[c.node.Pool]++
		}
	}
	for _, c := range d.open(ReasonUnhealthy) {
		if c.node.Deleting || c.node.Object == nil || c.node.Claim == nil {
			continue
		}
		due, ok := d.sickSince(c.node)
		if !ok || d.now.Before(due) {
			continue
		}
		n := all[c.node.Pool]
		if most := (n*unhealthyPercent + 99) / 100; sick[c.node.Pool] > most {
			d.insist(c, model.Verdict{Rule: model.RuleUnhealthy, Subject: fmt.Sprintf(
				"%d of %d nodes of pool %s are unhealthy, more than %d%%", sick[c.node.Pool], n, c.node.Pool, unhealthyPercent)})
			continue
		}
		d.commit(model.Command{Reason: ReasonUnhealthy, Method: "repair", Saves: c.price, Force: true}, []*candidate{c})
	}
}

// sickSince returns when the node is or was due for repair, by the policy that comes first, and false if no policy finds
// fault with it.
func (d *decider) sickSince(n *model.Node) (due time.Time, ok bool) {
	for _, policy := range d.o.Repair {
		for _, c := range n.Object.Status.Conditions {
			if c.Type != policy.Type || c.Status != policy.Status {
				continue
			}
			at := c.LastTransitionTime.Add(policy.Toleration)
			if !ok || at.Before(due) {
				due, ok = at, true
			}
		}
	}
	return due, ok
}

// Sick returns the condition for which the node is repaired, as a label of metrics; empty if there is none.
func Sick(n *model.Node, policies []RepairPolicy) corev1.NodeConditionType {
	d := decider{o: Options{Repair: policies}}
	for _, policy := range policies {
		d.o.Repair = []RepairPolicy{policy}
		if _, ok := d.sickSince(n); ok {
			return policy.Type
		}
	}
	return ""
}
