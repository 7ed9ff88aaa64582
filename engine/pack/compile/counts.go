package compile

import (
	"math"
	"slices"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// Counts are how many pods each group counts, by domain, with what the pods that are there tolerate. The counts of the
// snapshot are part of the Problem; each phase that places pods works on a clone.
type Counts struct {
	problem *Problem
	groups  []GroupCount
}

// A GroupCount is the counts of one group. Slices are by domain.
type GroupCount struct {
	// Present counts pods where they are or may be, Sure only those that certainly are on nodes that count.
	Present, Sure []int32
	// Limit is the most pods of the group that pods with anti-affinity, which are there already, tolerate.
	Limit []int32
	// NewClosed says that domains whose value is not known yet are closed to the pods, as Limit does for others.
	NewClosed bool
	// Eligible says which domains a node that counts is in, or may come to be in.
	Eligible []bool
	// Total counts pods in all domains and outside.
	Total int
	// Floor is the number of pods that every node has at least, for spread per node once limits leave no new node, and
	// FloorNodes the number of nodes that certainly count. Zero before.
	Floor      int32
	FloorNodes int
}

// NoLimit is the Limit of a domain without one.
const NoLimit = math.MaxInt32

// count sets Counts to the pods that run.
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
		c.Counts.groups[i] = GroupCount{Present: make([]int32, n), Sure: make([]int32, n), Limit: limit, Eligible: make([]bool, n)}
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

// countRunning counts a pod that runs on n. kube-scheduler spreads without regard to pods that are being deleted. Pods on a
// node that is being deleted are no company for others.
func countRunning(c *compiler, group int, n *Node, terminating bool) {
	g, counts := c.Groups[group], &c.Counts.groups[group]
	d := n.Domain(g.Key)
	spread := g.Kind == topology.Spread
	if n.Deleting && g.Kind == topology.Near {
		return
	}
	if g.Key == HostKey && d < 0 && !(terminating && spread) {
		counts.Total++ // on a node that takes no more pods
		return
	}
	if d < 0 || terminating && spread || !c.IsEligible(g, n) {
		return
	}
	counts.Present[d]++
	counts.Sure[d]++
	counts.Total++
}

// countPorts counts the host ports that are taken on n.
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

// countRepulsions closes the domains of running pods to the pods that their required anti-affinity keeps out.
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

// Clone returns a copy.
func (c *Counts) Clone() *Counts {
	out := &Counts{problem: c.problem, groups: slices.Clone(c.groups)}
	for i := range out.groups {
		g := &out.groups[i]
		g.Present, g.Sure, g.Limit = slices.Clone(g.Present), slices.Clone(g.Sure), slices.Clone(g.Limit)
		g.Eligible = slices.Clone(g.Eligible)
	}
	return out
}

// Of returns the counts of a group, to be read.
func (c *Counts) Of(group int) *GroupCount { return &c.groups[group] }

// MarkNode makes the domains eligible that n is in, or may come to be in.
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

// IsEligible reports whether n counts for the group.
func (p *Problem) IsEligible(g *Group, n *Node) bool {
	if g.Filter.Terms != nil && !p.Meets(n, g.Filter.Terms) || g.Lacks(n.Domain) {
		return false
	}
	return tolerates(g, n)
}

// tolerates reports whether n counts for the group as far as its taints are concerned.
func tolerates(g *Group, n *Node) bool {
	return g.Filter.Tolerations == nil || !g.Filter.Tolerations.RefuseHard(n.Taints)
}

// MayMeet reports whether a node with labels as reqs says, and no others, may meet one of the alternatives.
func (p *Problem) MayMeet(a *catalog.NodeTerms, reqs require.Set) bool {
	return slices.ContainsFunc(a.Terms, func(term require.Set) bool {
		_, ok := reqs.Compatible(term.Normalize(p.Settings.Labels.Aliases), nil)
		return ok
	})
}

// LeastIdle returns the fewest pods of the group on a node that counts and takes no pods; MaxInt32 if there is none.
func (p *Problem) LeastIdle(group int) int32 {
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

// IsLeaving reports whether the pod runs on a node that is on its way out.
func (p *Problem) IsLeaving(pod *model.Pod) bool { return p.terms.leaving[pod.Key] }

// AnyLeaving reports whether some pending pod runs on a node that is on its way out.
func (p *Problem) AnyLeaving() bool { return len(p.terms.leaving) > 0 }

// Allows returns how many pods with the rule may go to domain d of its group now. mayBeFirst says whether kube-scheduler's
// first-pod rule may be used; see IsFirst.
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
		room := r.MaxSkew + c.Emptiest(r.Group, r.MinDomains, d) - int(counts.Present[d])
		switch {
		case r.Self:
			return max(room, 0)
		case room < 0:
			return 0
		}
	}
	return math.MaxInt32
}

// IsFirst reports whether a pod with the affinity rule matches it itself and no pod anywhere meets any of its required
// affinity: kube-scheduler places such a pod as if it had company.
func (c *Counts) IsFirst(r *Rule) bool {
	return r.Self && c.groups[r.Group].Total == 0 &&
		!slices.ContainsFunc(r.Affinity, func(group int) bool { return c.groups[group].Total > 0 })
}

// Emptiest returns how many pods of the group the emptiest domain holds, for a pod that comes to domain to. A new node is
// possible and holds none, unless limits leave none; so is a new domain where values are not known before. In the pod's own
// domain all pods count that may be there, in others only those that surely are.
func (c *Counts) Emptiest(group, minDomains, to int) int {
	g, counts := c.problem.Groups[group], &c.groups[group]
	if g.Key == HostKey && !g.Static {
		return c.NodeFloor(group, minDomains)
	}
	if k := c.problem.Keys[g.Key]; g.Key != HostKey && (k.Open || k.InFlightOpen) {
		return 0
	}
	least, domains := int32(math.MaxInt32), 0
	if g.Static && g.Idle < math.MaxInt32 {
		least, domains = g.Idle, 1
	}
	for d, eligible := range counts.Eligible {
		if !eligible {
			continue
		}
		domains++
		if d == to {
			least = min(least, counts.Present[d])
		} else {
			least = min(least, counts.Sure[d])
		}
	}
	if domains == 0 || domains < minDomains {
		return 0
	}
	return int(least)
}

// NodeFloor returns how many pods of the group every node has at least, for spread per node.
func (c *Counts) NodeFloor(group, minDomains int) int {
	counts := &c.groups[group]
	if counts.Floor == math.MaxInt32 || counts.FloorNodes < minDomains {
		return 0
	}
	return int(counts.Floor)
}

// SetNodeFloor sets what NodeFloor returns.
func (c *Counts) SetNodeFloor(group int, floor int32, nodes int) {
	c.groups[group].Floor, c.groups[group].FloorNodes = floor, nodes
}

// Spare returns how many more pods of the group those that are in domain d already tolerate.
func (c *Counts) Spare(group, d int) int {
	counts := &c.groups[group]
	switch {
	case d >= 0:
		return max(int(counts.Limit[d]-counts.Present[d]), 0)
	case d == Unsettled && (counts.NewClosed || slices.ContainsFunc(counts.Limit, func(v int32) bool { return v != NoLimit })):
		return 0
	}
	return math.MaxInt32
}

// Add counts n pods in domain d, or in every domain if d is not settled and pods may have to avoid them. sure says that they
// certainly count.
func (c *Counts) Add(group, d, n int, sure bool) {
	counts := &c.groups[group]
	switch {
	case d >= 0:
		if sure {
			counts.Sure[d] += int32(n)
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

// AddTotal counts n pods that are on new nodes, for a group per node.
func (c *Counts) AddTotal(group, n int) { c.groups[group].Total += n }

// AddPossible counts n pods in domain d that may be there, without the total.
func (c *Counts) AddPossible(group, d, n int) { c.groups[group].Present[d] += int32(n) }

// Reserve closes domain d to pods that a pod with the rule, which is there, must avoid.
func (c *Counts) Reserve(r *Rule, d int) {
	if r.Kind != topology.Apart || r.Soft || d < 0 {
		return
	}
	counts := &c.groups[r.Group]
	counts.Limit[d] = min(counts.Limit[d], counts.Present[d]) // the pod itself, at most
}

// SetEligible says whether a node that counts may be in domain d.
func (c *Counts) SetEligible(group, d int, eligible bool) { c.groups[group].Eligible[d] = eligible }

// ClearEligible makes no domain eligible.
func (c *Counts) ClearEligible(group int) { clear(c.groups[group].Eligible) }
