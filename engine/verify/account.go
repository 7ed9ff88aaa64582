package verify

import "github.com/karpenter-go/karpenter/engine/model"

// account checks that each pending pod is placed or refused exactly once. Bound pods may be placed only if their node is
// removed. It also checks that each planned node has pods, and the form of refusals.
func (c *checker) account() {
	var all []*model.Pod
	for _, pl := range c.plan.Placements {
		all = append(all, pl.Pods...)
	}
	for i := range c.plan.Nodes {
		if len(c.plan.Nodes[i].Pods) == 0 {
			c.add(Violation{Rule: RuleAccount, Node: c.nameOf(i), Detail: "is for no pod"})
		}
		all = append(all, c.plan.Nodes[i].Pods...)
	}
	for _, r := range c.plan.Refusals {
		all = append(all, r.Pods...)
		c.refusal(r)
	}
	times := make(map[string]int)
	for _, p := range all {
		switch times[p.Key]++; times[p.Key] {
		case 1:
			c.needsPlace(p)
		case 2:
			c.add(Violation{Rule: RuleAccount, Pod: p.Key, Detail: "is placed or refused more than once"})
		}
	}
	for _, p := range c.snapshot.Pending() {
		if times[p.Key] == 0 {
			c.add(Violation{Rule: RuleAccount, Pod: p.Key, Detail: "is pending, but neither placed nor refused"})
		}
	}
}

// needsPlace checks that p is an unchanged pod of the snapshot that needs a place: it is not bound, or its node is
// being removed.
func (c *checker) needsPlace(p *model.Pod) {
	v := Violation{Rule: RuleAccount, Pod: p.Key}
	known, ok := c.snapshot.Pods.Get(p.Key)
	n, bound := c.snapshot.NodeByName(p.Object.Spec.NodeName)
	switch {
	case !ok:
		v.Detail = "is not in the snapshot"
	case known.Object != p.Object:
		v.Detail = "is another version than the one in the snapshot"
	case p.Object.Spec.NodeName != "" && bound && !leaving(n):
		v.Detail = "runs on " + p.Object.Spec.NodeName + ", which stays"
	default:
		return
	}
	c.add(v)
}

// refusal checks that a refusal has pods and reasons.
func (c *checker) refusal(r model.Refusal) {
	if len(r.Pods) == 0 {
		c.add(Violation{Rule: RuleRefusal, Detail: "refuses no pod"})
		return
	}
	if len(r.Reasons) == 0 {
		c.add(Violation{Rule: RuleRefusal, Pod: r.Pods[0].Key, Detail: "is refused without a reason"})
	}
	for _, reason := range r.Reasons {
		if reason.Verdict.OK() {
			c.add(Violation{Rule: RuleRefusal, Pod: r.Pods[0].Key,
				Detail: "is refused, but pool " + reason.Pool + " says that it fits"})
		}
	}
}
