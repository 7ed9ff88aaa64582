package compile

import (
	"math"
	"slices"

	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// Counts holds, for each topology group and domain, how many pods of the group are there, and how many the required
// anti-affinity of other pods allows. Problem.Counts counts what exists before planning: running pods except displaced
// ones, expected DaemonSet pods and host ports in use. Phases that place pods work on a clone.
type Counts struct {
	problem *Problem
	groups  []GroupCount
}

// A GroupCount is the counts of one topology group. Slices are indexed by domain.
type GroupCount struct {
	// Present counts the pods that are or may be in the domain. Certain counts only the pods that are certain to be in the
	// domain and certain to be counted by the group. For an affinity group, neither includes pods on nodes whose domain is
	// Unsettled, nor DaemonSet pods that are not certain to run.
	Present, Certain []int32
	// Limit is the largest number of the group's pods that anti-affinity of the pods in the domain allows there.
	Limit []int32
	// Eligible says whether the domain has, or may get, a node on which the group counts pods. As in kube-scheduler, only
	// eligible domains count for the global minimum. It is set only for groups of spread over labels that nodes share.
	Eligible []bool
	// MayExist says that the group counts a pod or may count one, in any domain. Only IsFirst uses it.
	MayExist bool
}

// NoLimit is the value of Limit in a domain without a limit.
const NoLimit = math.MaxInt32

// setCounts sets Problem.Counts to the running pods, the expected DaemonSet pods and the host ports in use. Affinity does not
// count pods on a node that is being deleted.
func setCounts(c *compiler) {
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
	var groups []int
	for _, n := range c.All {
		if !n.Deleting {
			for i := range c.Groups {
				c.Counts.markNode(i, n)
			}
		}
		for _, pod := range n.Pods {
			if c.displaced[pod.Key] {
				continue
			}
			groups = c.groupsOf(groups, pod)
			for _, i := range groups {
				kind := c.Groups[i].Kind // kube-scheduler's spread does not count terminating pods
				if pod.Terminating() && kind == topology.Spread || n.Deleting && kind == topology.Affinity {
					continue
				}
				c.Counts.AddOn(i, n, 1)
			}
			if len(c.ports.group) > 0 {
				countPorts(c, n, catalog.PortsOf(&pod.Object.Spec))
			}
		}
		countPorts(c, n, n.Ports)
		c.Counts.exclude(n, c.excluded[n.Name])
		countExpected(c, n)
	}
	for i, g := range c.Groups {
		if g.Kind == topology.Affinity && len(c.OnNewNodes(g.Daemons)) > 0 {
			c.Counts.groups[i].MayExist = true // a new node may run such a pod, so pods cannot satisfy the affinity by themselves
		}
	}
}

// countPorts counts each of the host ports in the groups of the ports that conflict with it. The ports are those that pods
// use on n, or that DaemonSet pods may use there.
func countPorts(c *compiler, n *Node, ports []catalog.Port) {
	if n.Index < 0 {
		return
	}
	var groups []int
	for _, q := range ports {
		groups = c.ports.appendConflicts(groups[:0], q)
		for _, g := range groups {
			c.Counts.groups[g].Present[n.Index]++
		}
	}
}

// exclude sets Limit of the groups to 0 in each domain that n has or may get, because required anti-affinity of a pod on n
// excludes their pods.
func (c *Counts) exclude(n *Node, groups []int) {
	for _, g := range groups {
		for _, d := range c.problem.DomainsOf(n, c.problem.Groups[g].Key) {
			c.groups[g].Limit[d] = 0
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

// Of returns the counts of a group.
func (c *Counts) Of(group int) *GroupCount { return &c.groups[group] }

// markNode marks as eligible for the group each domain that n has or may get and in which the group may count pods on n.
func (c *Counts) markNode(group int, n *Node) {
	p, g, eligible := c.problem, c.problem.Groups[group], c.groups[group].Eligible
	known := n.Domain(g.Key)
	if g.Kind != topology.Spread || g.Key == HostKey || known >= 0 && eligible[known] || !p.MayCount(g, n) {
		return
	}
	for _, d := range p.DomainsOf(n, g.Key) {
		eligible[d] = eligible[d] || !n.InFlight || g.Filter.Terms == nil ||
			p.MayMeet(g.Filter.Terms, n.MayHave.With(require.New(p.Keys[g.Key].Label, require.In, p.Keys[g.Key].Names[d])))
	}
}

// SurelyCounts reports whether the group is certain to count pods on n.
func (p *Problem) SurelyCounts(g *Group, n *Node) bool {
	return tolerates(g, n) && !g.LacksLabel(n.Domain) && (g.Filter.Terms == nil || p.Meets(n, g.Filter.Terms))
}

// MayCount reports whether the group may count pods on n. If n has an instance, it equals SurelyCounts.
func (p *Problem) MayCount(g *Group, n *Node) bool {
	return p.SurelyCounts(g, n) || n.InFlight && tolerates(g, n) && !g.LacksLabel(n.Domain) && p.MayMeet(g.Filter.Terms, n.MayHave)
}

// tolerates reports whether the group counts pods on n in spite of the taints of n.
func tolerates(g *Group, n *Node) bool {
	return g.Filter.Tolerations == nil || !g.Filter.Tolerations.RefuseHard(n.Taints)
}

// MayMeet reports whether a node may meet one of the terms of a. The node has exactly the labels that reqs mentions, with
// values that reqs allow.
func (p *Problem) MayMeet(a *catalog.NodeTerms, reqs require.Set) bool {
	return slices.ContainsFunc(a.Terms, func(term require.Set) bool {
		_, ok := reqs.Compatible(term.Normalize(p.Settings.Labels.Aliases), nil)
		return ok
	})
}

// Allows returns how many more pods of the class with rule r may be placed in domain d of its group, math.MaxInt32 if r
// sets no limit. On nodes without the label (Outside) only anti-affinity allows pods. If d is Unsettled, no rule does.
// mayBeFirst reports whether a pod of the class may satisfy an affinity rule by itself (kube-scheduler's first-pod
// exception). If it is nil, no pod may.
func (c *Counts) Allows(class *Class, r *Rule, d int, mayBeFirst func(*Class, *Rule) bool) int {
	if d < 0 {
		if r.Kind == topology.AntiAffinity && d == Outside {
			return math.MaxInt32
		}
		return 0
	}
	counts := &c.groups[r.Group]
	switch r.Kind {
	case topology.AntiAffinity:
		switch {
		case counts.Present[d] > 0:
			return 0
		case r.Self:
			return 1
		}
	case topology.Affinity:
		if counts.Present[d] == 0 && (mayBeFirst == nil || !mayBeFirst(class, r)) {
			return 0
		}
	case topology.Spread:
		room := r.MaxSkew + c.globalMinimum(r.Group, r.MinDomains, d) - int(counts.Present[d])
		switch {
		case r.Self:
			return max(room, 0)
		case room < 0:
			return 0
		}
	}
	return math.MaxInt32
}

// IsFirst reports whether kube-scheduler's first-pod exception applies to an affinity rule: the pod satisfies its
// affinity by itself. The pod must match the rule itself, and no other pod may match any required affinity of the pod.
func (c *Counts) IsFirst(r *Rule) bool {
	return r.Self && !c.groups[r.Group].MayExist &&
		!slices.ContainsFunc(r.Affinity, func(group int) bool { return c.groups[group].MayExist })
}

// globalMinimum returns the minimum number of the group's pods over all eligible domains, as in kube-scheduler. The
// parameter to is the domain in which the pod is to be placed. In that domain, pods that are possible count. In the other
// domains, only pods that are certain count. So the skew is never underestimated. The minimum is 0
//
//   - over the hostname, because an empty node may be added;
//   - if a node may get a value of the label that is not known yet;
//   - if no domain is eligible, or fewer than minDomains are.
func (c *Counts) globalMinimum(group, minDomains, to int) int {
	g, counts := c.problem.Groups[group], &c.groups[group]
	if k := c.problem.Keys[g.Key]; g.Key == HostKey || k.Open || k.InFlightOpen {
		return 0
	}
	least, domains := int32(math.MaxInt32), 0
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

// Spare returns how many more pods of the group may be in domain d, by the anti-affinity of the pods already there. If d is
// Unsettled, it is 0 if any domain has a limit. Outside has no limit.
func (c *Counts) Spare(group, d int) int {
	counts := &c.groups[group]
	switch {
	case d >= 0:
		return max(int(counts.Limit[d]-counts.Present[d]), 0)
	case d == Unsettled && slices.ContainsFunc(counts.Limit, func(v int32) bool { return v != NoLimit }):
		return 0
	}
	return math.MaxInt32
}

// Add counts n pods of the group in domain d, at least 1. certain says that they are certain to be in d and to be counted. If
// d is Unsettled, Add only sets MayExist, and for an anti-affinity group counts them in Present of every domain. If d is
// Outside, it does not count them.
func (c *Counts) Add(group, d, n int, certain bool) {
	counts := &c.groups[group]
	switch {
	case d >= 0:
		if certain {
			counts.Certain[d] += int32(n)
		}
		counts.Present[d] += int32(n)
		counts.MayExist = true
	case d == Unsettled:
		counts.MayExist = true
		if c.problem.Groups[group].Kind == topology.AntiAffinity {
			for i := range counts.Present {
				counts.Present[i] += int32(n)
			}
		}
	}
}

// AddOn counts pods of the group, at least 1, on node n, if the group may count pods there.
func (c *Counts) AddOn(group int, n *Node, pods int) { c.addOn(group, n, pods, true) }

// addOn is AddOn. certain says that the pods are certain to be on n. Pods that are not certain are possible in each domain
// that n has or may get, and so are pods on a node whose domain is Unsettled. For such pods, affinity only sets MayExist. If
// n takes no new pods, groups over the hostname only set MayExist, because n is no domain.
func (c *Counts) addOn(group int, n *Node, pods int, certain bool) {
	p, g, counts := c.problem, c.problem.Groups[group], &c.groups[group]
	if !p.MayCount(g, n) {
		return
	}
	if g.Key == HostKey || n.Domain(g.Key) != Outside {
		counts.MayExist = true
	}
	certain = certain && n.Domain(g.Key) >= 0
	counted := certain && (!n.InFlight || p.SurelyCounts(g, n))
	for _, d := range p.DomainsOf(n, g.Key) {
		if certain || g.Kind != topology.Affinity {
			counts.Present[d] += int32(pods)
		}
		if counted {
			counts.Certain[d] += int32(pods)
		}
	}
}

// Reserve records that a pod with rule r was placed in domain d. If r is required anti-affinity, Reserve lowers Limit of d,
// so that no other pod of the rule's group can be placed in d. Otherwise, or if d is Outside or Unsettled, it changes
// nothing.
func (c *Counts) Reserve(r *Rule, d int) {
	if r.Kind != topology.AntiAffinity || r.Soft || d < 0 {
		return
	}
	counts := &c.groups[r.Group]
	counts.Limit[d] = min(counts.Limit[d], counts.Present[d]) // Present may include the pod itself
}
