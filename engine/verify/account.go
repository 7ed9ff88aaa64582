package verify

import (
	"github.com/karpenter-go/karpenter/engine/model"
)

// account checks that every pending pod is placed or refused exactly once, and that
// nobody else is, but pods that need another place because their node goes.
func (c *checker) account() {
	times := make(map[string]int)
	count := func(pods []*model.Pod) {
		for _, p := range pods {
			if times[p.Key]++; times[p.Key] == 1 {
				c.known(p)
			}
		}
	}
	for _, pl := range c.plan.Placements {
		count(pl.Pods)
	}
	for i := range c.plan.Nodes {
		if len(c.plan.Nodes[i].Pods) == 0 {
			c.add(Violation{Rule: RuleAccount, Node: c.nameOf(i), Detail: "is for no pod"})
		}
		count(c.plan.Nodes[i].Pods)
	}
	for _, r := range c.plan.Refusals {
		count(r.Pods)
		c.refusal(r)
	}

	for _, p := range c.snapshot.Pending() {
		if times[p.Key] == 0 {
			c.add(Violation{Rule: RuleAccount, Pod: p.Key, Detail: "is pending, but neither placed nor refused"})
		}
	}
	twice := func(pods []*model.Pod) {
		for _, p := range pods {
			if times[p.Key] > 1 {
				c.add(Violation{Rule: RuleAccount, Pod: p.Key, Detail: "is placed or refused more than once"})
			}
		}
	}
	for _, pl := range c.plan.Placements {
		twice(pl.Pods)
	}
	for i := range c.plan.Nodes {
		twice(c.plan.Nodes[i].Pods)
	}
	for _, r := range c.plan.Refusals {
		twice(r.Pods)
	}
}

// known checks that p is a pod of the snapshot, as it is there, that needs a place.
func (c *checker) known(p *model.Pod) {
	o, ok := c.snapshot.Pod(p.Key)
	switch {
	case !ok:
		c.add(Violation{Rule: RuleAccount, Pod: p.Key, Detail: "is not in the snapshot"})
		return
	case o.Object != p.Object:
		c.add(Violation{Rule: RuleAccount, Pod: p.Key, Detail: "is another version than the one in the snapshot"})
		return
	}
	on := p.Object.Spec.NodeName
	if on == "" {
		return
	}
	if n, ok := c.snapshot.NodeByName(on); ok && !leaving(n) {
		c.add(Violation{Rule: RuleAccount, Pod: p.Key, Detail: "runs on " + on + ", which stays"})
	}
}

// refusal checks that the refused pods are told why.
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
