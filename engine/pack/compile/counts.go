package compile

import (
	"math"
	"slices"

	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// Counts hold how many pods each group counts, by domain, and the most that the anti-affinity of placed pods allows.
// Problem.Counts holds the running pods, the DaemonSet pods still to come and the host ports in use. Each phase that
// places pods works on a clone.
type Counts struct {
	problem *Problem
	groups  []GroupCount
}

// A GroupCount holds the counts of one group. Slices are indexed by domain.
type GroupCount struct {
	// Present counts the pods that are or may be in the domain. Certain counts only pods that are certain to be there
	// and to count. An affinity group leaves DaemonSet pods that only may run out of both.
	Present, Certain []int32
	// Limit is the most pods of the group that anti-affinity of the pods in the domain allows there.
	Limit []int32
	// UnsettledClosed says that anti-affinity of DaemonSet pods keeps the group's pods out of domains whose label
	// value is not known yet.
	UnsettledClosed bool
	// Eligible says whether a node that counts for the group is in the domain, or may get into it.
	Eligible []bool
	// Total is the number of pods that the group counts in all domains. It matters only whether it is 0; see IsFirst.
	Total int
}

// NoLimit is the value of Limit for a domain without a limit.
const NoLimit = math.MaxInt32

// count sets Problem.Counts to the running pods, the DaemonSet pods still to come and the host ports in use.
func count(c *compiler) {
	c.Counts = &Counts{problem: c.Problem, groups: make([]GroupCount, len(c.Groups))}
	if len(c.Groups) == 0 {
		return
	}
	for i, g := range c.Groups {
		n := len(c.Nodes)
		if g.Key != HostKey {
			n = len(c.Keys[g.Key].Names)
		}
		limit := make([]int32, n)
		for d := range limit {
			limit[d] = NoLimit
		}
		c.Counts.groups[i] = GroupCount{Present: make([]int32, n), Certain: make([]int32, n), Limit: limit, Eligible: make([]bool, n)}
	}
	var terms []int
	for _, n := range c.All {
		if !n.Deleting {
			for i := range c.Groups {
				c.Counts.MarkNode(i, n)
			}
		}
		for _, pod := range n.Pods {
			if c.terms.leaving[pod.Key] {
				continue
			}
			terms = c.terms.selecting(terms, pod)
			for _, term := range terms {
				for _, g := range c.terms.groups[term] {
					countRunning(c, g, n, pod.Terminating())
				}
			}
			if len(c.ports) > 0 {
				countPorts(c, n, catalog.PortsOf(&pod.Object.Spec))
			}
		}
		countPorts(c, n, n.Ports)
	}
	if len(c.Daemons) > 0 {
		countDaemons(c)
	}
	countRepulsions(c)
}

// countRunning counts a pod that runs on n. As in kube-scheduler, spread ignores terminating pods. Pods on a node that
// is being deleted do not meet the affinity of others.
func countRunning(c *compiler, group int, n *Node, terminating bool) {
	g, counts := c.Groups[group], &c.Counts.groups[group]
	d := n.Domain(g.Key)
	spread := g.Kind == topology.Spread
	if n.Deleting && g.Kind == topology.Near {
		return
	}
	if g.Key == HostKey && d < 0 && !(terminating && spread) {
		counts.Total++ // the node takes no more pods, so it has no domain
		return
	}
	if d < 0 || terminating && spread || !c.IsEligible(g, n) {
		return
	}
	counts.Present[d]++
	counts.Certain[d]++
	counts.Total++
}

// countPorts counts the host ports that are in use on n.
func countPorts(c *compiler, n *Node, ports []catalog.Port) {
	if n.Index < 0 {
		return
	}
	for _, q := range ports {
		for _, g := range c.ports {
			if q.Conflicts(c.Groups[g].Port) {
				c.Counts.groups[g].Present[n.Index]++
			}
		}
	}
}

// countRepulsions sets Limit to 0 where required anti-affinity of a running pod repels the pods of a group.
func countRepulsions(c *compiler) {
	at := map[string]*Node{}
	for _, n := range c.All {
		at[n.Name] = n
	}
	for _, r := range c.repulsions {
		n := at[r.node]
		if n == nil {
			continue
		}
		for _, term := range r.terms {
			for _, i := range c.terms.groups[term] {
				g := c.Groups[i]
				if d := n.Domain(g.Key); g.Kind == topology.Apart && d >= 0 {
					c.Counts.groups[i].Limit[d] = 0
				}
			}
		}
	}
}

// Clone returns a deep copy.
func (c *Counts) Clone() *Counts {
	out := &Counts{problem: c.problem, groups: slices.Clone(c.groups)}
	for i := range out.groups {
		g := &out.groups[i]
		g.Present, g.Certain, g.Limit = slices.Clone(g.Present), slices.Clone(g.Certain), slices.Clone(g.Limit)
		g.Eligible = slices.Clone(g.Eligible)
	}
	return out
}

// Of returns the counts of a group. The caller must not change them.
func (c *Counts) Of(group int) *GroupCount { return &c.groups[group] }

// MarkNode marks the domains of n as eligible, also those that it may get.
func (c *Counts) MarkNode(group int, n *Node) {
	p, g, counts := c.problem, c.problem.Groups[group], &c.groups[group]
	d := n.Domain(g.Key)
	if !tolerates(g, n) {
		return
	}
	switch {
	case d >= 0:
		counts.Eligible[d] = counts.Eligible[d] || p.IsEligible(g, n)
	case d == Unsettled && !g.Lacks(n.Domain):
		k := p.Keys[g.Key]
		for _, variant := range n.Variants {
			r, _ := variant.Get(k.Label)
			for d, name := range k.Names {
				if !counts.Eligible[d] && r.Has(name) {
					counts.Eligible[d] = g.Filter.Terms == nil || p.MayMeet(g.Filter.Terms, variant.With(require.New(k.Label, require.In, name)))
				}
			}
		}
	}
}

// IsEligible reports whether pods on n count for the group.
func (p *Problem) IsEligible(g *Group, n *Node) bool {
	if g.Filter.Terms != nil && !p.Meets(n, g.Filter.Terms) || g.Lacks(n.Domain) {
		return false
	}
	return tolerates(g, n)
}

// tolerates reports whether the taints of n allow that its pods count for the group.
func tolerates(g *Group, n *Node) bool {
	return g.Filter.Tolerations == nil || !g.Filter.Tolerations.RefuseHard(n.Taints)
}

// MayMeet reports whether a node may meet one of the terms. The node has the labels of reqs and no others.
func (p *Problem) MayMeet(a *catalog.NodeTerms, reqs require.Set) bool {
	return slices.ContainsFunc(a.Terms, func(term require.Set) bool {
		_, ok := reqs.Compatible(term.Normalize(p.Settings.Labels.Aliases), nil)
		return ok
	})
}

// MinOnOtherNodes returns the lowest number of the group's pods on any eligible node that takes no new pods. It returns
// MaxInt32 if there is no such node.
func (p *Problem) MinOnOtherNodes(group int) int32 {
	least := int32(math.MaxInt32)
	var terms []int
	for _, n := range p.All {
		if n.Index >= 0 || n.Deleting || !p.IsEligible(p.Groups[group], n) {
			continue
		}
		pods := int32(0)
		for _, pod := range n.Pods {
			if p.terms.leaving[pod.Key] || pod.Terminating() {
				continue
			}
			terms = p.terms.selecting(terms, pod)
			if slices.ContainsFunc(terms, func(t int) bool { return slices.Contains(p.terms.groups[t], group) }) {
				pods++
			}
		}
		least = min(least, pods)
	}
	return least
}

// AnyLeaving reports whether some pod runs on a node that is to be removed, and needs a new place.
func (p *Problem) AnyLeaving() bool { return len(p.terms.leaving) > 0 }

// Allows returns how many pods with the rule may be placed in domain d of its group now. mayBeFirst reports whether
// kube-scheduler's first-pod exception applies; see Rule.Affinity and IsFirst.
func (c *Counts) Allows(r *Rule, d int, mayBeFirst func(*Rule) bool) int {
	if d < 0 {
		if r.Kind == topology.Apart && d == Outside {
			return math.MaxInt32
		}
		return 0
	}
	counts := &c.groups[r.Group]
	switch r.Kind {
	case topology.Apart:
		switch {
		case counts.Present[d] > 0:
			return 0
		case r.Self:
			return 1
		}
	case topology.Near:
		if counts.Present[d] == 0 && !mayBeFirst(r) {
			return 0
		}
	case topology.Spread:
		room := r.MaxSkew + c.GlobalMinimum(r.Group, r.MinDomains, d) - int(counts.Present[d])
		switch {
		case r.Self:
			return max(room, 0)
		case room < 0:
			return 0
		}
	}
	return math.MaxInt32
}

// IsFirst reports whether the first-pod exception applies: the pod matches its affinity rule itself, and no pod matches
// any of its required affinity. See Rule.Affinity.
func (c *Counts) IsFirst(r *Rule) bool {
	return r.Self && c.groups[r.Group].Total == 0 &&
		!slices.ContainsFunc(r.Affinity, func(group int) bool { return c.groups[group].Total > 0 })
}

// GlobalMinimum returns the least number of the group's pods over all eligible domains. It is 0 if a new node or a
// new domain is possible, or if there are fewer than minDomains. In domain to, where the pod is placed, it uses
// Present, elsewhere Certain.
func (c *Counts) GlobalMinimum(group, minDomains, to int) int {
	g, counts := c.problem.Groups[group], &c.groups[group]
	if g.Key == HostKey && !g.Static {
		return 0
	}
	if k := c.problem.Keys[g.Key]; g.Key != HostKey && (k.Open || k.InFlightOpen) {
		return 0
	}
	least, domains := int32(math.MaxInt32), 0
	if g.Static && g.MinOnOthers < math.MaxInt32 {
		least, domains = g.MinOnOthers, 1
	}
	for d, eligible := range counts.Eligible {
		if !eligible {
			continue
		}
		domains++
		if d == to {
			least = min(least, counts.Present[d])
		} else {
			least = min(least, counts.Certain[d])
		}
	}
	if domains == 0 || domains < minDomains {
		return 0
	}
	return int(least)
}

// Spare returns how many more pods of the group domain d may hold, by the anti-affinity of the pods already there.
func (c *Counts) Spare(group, d int) int {
	counts := &c.groups[group]
	switch {
	case d >= 0:
		return max(int(counts.Limit[d]-counts.Present[d]), 0)
	case d == Unsettled && (counts.UnsettledClosed || slices.ContainsFunc(counts.Limit, func(v int32) bool { return v != NoLimit })):
		return 0
	}
	return math.MaxInt32
}

// Add counts n pods in domain d. If d is Unsettled, an anti-affinity group counts them in every domain. sure says that
// the pods certainly are there and count.
func (c *Counts) Add(group, d, n int, certain bool) {
	counts := &c.groups[group]
	switch {
	case d >= 0:
		if certain {
			counts.Certain[d] += int32(n)
		}
		counts.Present[d] += int32(n)
		counts.Total += n
	case d == Unsettled:
		counts.Total += n
		if c.problem.Groups[group].Kind == topology.Apart {
			for i := range counts.Present {
				counts.Present[i] += int32(n)
			}
		}
	}
}

// AddTotal adds n pods on new nodes to Total, for a group whose domains are nodes.
func (c *Counts) AddTotal(group, n int) { c.groups[group].Total += n }

// AddPossible counts n pods in domain d that may be there. It leaves Total and Certain as they are.
func (c *Counts) AddPossible(group, d, n int) { c.groups[group].Present[d] += int32(n) }

// Reserve lowers the Limit of domain d because of a pod there with required anti-affinity rule r. Other pods of the
// rule's group can then not be placed in the domain.
func (c *Counts) Reserve(r *Rule, d int) {
	if r.Kind != topology.Apart || r.Soft || d < 0 {
		return
	}
	counts := &c.groups[r.Group]
	counts.Limit[d] = min(counts.Limit[d], counts.Present[d]) // the pod itself may be among those present
}

// SetEligible sets whether a node that counts for the group may be in domain d.
func (c *Counts) SetEligible(group, d int, eligible bool) { c.groups[group].Eligible[d] = eligible }
