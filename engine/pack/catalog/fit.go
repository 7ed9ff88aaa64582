package catalog

import (
	"math"
	"slices"

	"github.com/karpenter-go/karpenter/engine/binpack/typeset"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// A Fit says in which set of offerings pods go to each pool, and which types can hold one of them.
type Fit struct {
	ID     int
	OK     bool // some type of some pool can
	Demand *Demand
	On     []PoolFit // by pool
	// PerPod is the least price at which a pod is held, with as many of its like on the node as have room.
	PerPod float64
	// Restricted says that more than room and labels decides which types can hold the pods: host ports or DaemonSet pods.
	Restricted bool
}

// A PoolFit has no Set where the pods cannot go.
type PoolFit struct {
	Set   *OfferSet
	Types typeset.Set
}

// Needs are what pods need of a new node.
type Needs struct {
	Terms       *NodeTerms
	Tolerations *Tolerations
	Demand      *Demand
	Ports       []Port
	// Extra are further label requirements: the topology domains that were chosen for the pods.
	Extra require.Set
	// Neighbours leaves out types by the DaemonSets that run there; nil for no restriction.
	Neighbours NeighbourFilter
}

// A NeighbourFilter leaves out nodes by the DaemonSets that run there.
type NeighbourFilter interface {
	// Number identifies equal filters, from 1.
	Number() int
	// Admits reports whether a node with these DaemonSets under these label requirements will do.
	Admits(on []Presence, reqs require.Set) bool
}

// A fitKey is what a Fit depends on.
type fitKey struct {
	terms, tolerations, demand, neighbours int
	extra, ports                           string
}

// A setKey is what the set of pods in a pool depends on.
type setKey struct {
	pool, terms, term int
	extra             string
}

// Fit returns where pods with these needs fit.
func (c *Catalog) Fit(n Needs) *Fit {
	k := fitKey{terms: n.Terms.ID, tolerations: n.Tolerations.ID, demand: n.Demand.ID, extra: n.Extra.String()}
	if n.Neighbours != nil {
		k.neighbours = n.Neighbours.Number()
	}
	if len(n.Ports) > 0 {
		k.ports = string(EncodePorts(nil, n.Ports))
	}
	if f, ok := c.fits[k]; ok {
		return f
	}
	f := &Fit{
		ID: len(c.fits), Demand: n.Demand, On: make([]PoolFit, len(c.Pools)), PerPod: math.Inf(1),
		Restricted: len(n.Ports) > 0 || n.Neighbours != nil,
	}
	c.fits[k] = f
	for i, p := range c.Pools {
		if _, refused := n.Tolerations.Refuse(p.Taints); refused {
			continue
		}
		for term := range n.Terms.Terms {
			if on, ok := c.fitTerm(p, &n, term, k.extra); ok {
				f.On[i], f.OK = on, true
				break
			}
		}
		f.PerPod = min(f.PerPod, p.perPod(n.Demand, f.On[i]))
	}
	return f
}

// fitTerm returns where in the pool pods fit by one of their node terms; extra is the text of n.Extra.
func (c *Catalog) fitTerm(p *Pool, n *Needs, term int, extra string) (PoolFit, bool) {
	k := setKey{p.Index, n.Terms.ID, term, extra}
	s, ok := c.byTerm[k]
	if !ok {
		s = p.OffersFor(n.Terms.Terms[term].And(n.Extra))
		c.byTerm[k] = s
	}
	if s == nil || s.Empty() {
		return PoolFit{}, false
	}
	types := s.Types.And(c.Roomy(p, n.Demand))
	if len(n.Ports) > 0 {
		types = p.withoutPorts(types, n.Ports)
	}
	if n.Neighbours != nil {
		types = p.withNeighbours(types, s, n.Neighbours)
	}
	return PoolFit{Set: s, Types: types}, types.Any()
}

// perPod returns the least price of a pod where it fits in p, +Inf if it fits nowhere.
func (p *Pool) perPod(d *Demand, f PoolFit) float64 {
	best := math.Inf(1)
	if f.Set == nil {
		return best
	}
	f.Types.Each(func(i int) {
		best = min(best, f.Set.Prices[i]/float64(p.Types[i].copies(d, math.MaxInt32)))
	})
	return best
}

// withoutPorts returns the types of m on which no DaemonSet takes one of the ports.
func (p *Pool) withoutPorts(m typeset.Set, ports []Port) typeset.Set {
	out := typeset.New(len(p.Types))
	m.Each(func(i int) {
		if !PortsConflict(p.Types[i].Daemons.Ports, ports) {
			out.Add(i)
		}
	})
	return out
}

// withNeighbours returns the types of m with DaemonSets that the filter admits.
func (p *Pool) withNeighbours(m typeset.Set, s *OfferSet, filter NeighbourFilter) typeset.Set {
	out := typeset.New(len(p.Types))
	m.Each(func(i int) {
		if filter.Admits(p.Neighbours(s, i), s.Requirements) {
			out.Add(i)
		}
	})
	return out
}

// Roomy returns the types of p that have room for one pod with the demand.
func (c *Catalog) Roomy(p *Pool, d *Demand) typeset.Set {
	k := [2]int{d.ID, p.Index}
	if m, ok := c.roomy[k]; ok {
		return m
	}
	m := typeset.New(len(p.Types))
	for i := range p.Types {
		m.Add(i)
	}
	m = p.Bins().Index.Holding(m, d.Amount, d.Shared.Numbers())
	c.roomy[k] = m
	return m
}

// Like reports whether pods of both fits go to the same pools in the same sets.
func (f *Fit) Like(o *Fit) bool {
	return slices.EqualFunc(f.On, o.On, func(a, b PoolFit) bool { return a.Set == b.Set })
}

// A Bearing says how pods count for a topology spread constraint that looks only at certain nodes.
type Bearing uint8

// The bearings: it depends on what the nodes turn out to be; the pods certainly count; they certainly do not.
const (
	MayCount Bearing = iota
	Counts
	CountsNot
)

// A NodeFilter are the nodes that a topology spread constraint looks at: nil fields stand for all nodes.
type NodeFilter struct {
	Terms       *NodeTerms
	Tolerations *Tolerations
}

// Tolerates reports whether nodes with the taints count.
func (f NodeFilter) Tolerates(p *Pool) bool {
	return f.Tolerations == nil || !f.Tolerations.RefuseHard(p.Taints)
}

// BearingOf returns how pods on new nodes of p count that go there as on says.
func (p *Pool) BearingOf(f NodeFilter, on PoolFit) Bearing {
	if !f.Tolerates(p) {
		return CountsNot
	}
	if f.Terms == nil {
		return Counts
	}
	all, none := true, true
	judge := func(reqs require.Set) {
		met, may := false, false
		for _, term := range f.Terms.Terms {
			term = term.Normalize(p.settings.Labels.Aliases)
			met = met || Implies(reqs, term)
			if !may {
				_, may = reqs.Compatible(term, p.settings.Known)
			}
		}
		all, none = all && met, none && !may
	}
	if judge(on.Set.Requirements); !all {
		all, none = true, true
		on.Types.Each(func(i int) { judge(p.Types[i].Allowed.And(on.Set.Requirements)) })
	}
	switch {
	case all:
		return Counts
	case none:
		return CountsNot
	}
	return MayCount
}

// Explain returns why no type of p can hold pods by the term; a yes if one can.
func (c *Catalog) Explain(p *Pool, term require.Set, d *Demand) model.Verdict {
	term = term.Normalize(c.settings.Labels.Aliases)
	if conflict, ok := p.Requirements.Compatible(term, c.settings.Known); !ok {
		return model.Verdict{Rule: model.RuleLabels, Subject: conflict.String()}
	}
	s := p.OffersUnder(p.Requirements.And(term))
	if s.Empty() {
		return p.explainNoType(term)
	}
	if s.Types.And(c.Roomy(p, d)).Any() {
		return model.Verdict{}
	}
	most := make([]int64, len(d.Amount)) // the largest room of any type that the labels allow
	s.Types.Each(func(i int) {
		for r, v := range p.Types[i].Room {
			most[r] = max(most[r], v)
		}
	})
	if r, by, missing := Short(d.Whole(), most); missing {
		if driver, volumes := c.volumes.Driver(r); volumes {
			return TooManyVolumes(driver, by)
		}
		return model.Verdict{Rule: model.RuleResources, Resource: c.volumes.dimensions.Names[r], By: by}
	}
	return model.Verdict{Rule: model.RuleShape}
}

// explainNoType tells a label that no type of the pool has from one whose types have no offering.
func (p *Pool) explainNoType(term require.Set) model.Verdict {
	for _, t := range p.Types {
		if _, ok := t.Allowed.Intersects(term); ok {
			return model.Verdict{Rule: model.RuleOffering, Subject: term.String()}
		}
	}
	return model.Verdict{Rule: model.RuleLabels, Subject: "no instance type of the pool has " + term.String()}
}
