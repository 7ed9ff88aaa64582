package catalog

import (
	"math"
	"slices"

	"github.com/karpenter-go/karpenter/engine/binpack/typeset"
	"github.com/karpenter-go/karpenter/engine/binpack/vector"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// A Fit is what pods with equal needs may use: for each pool, the offerings that they allow and the types that hold one
// pod.
type Fit struct {
	ID     int
	OK     bool // some type of some pool holds a pod
	Demand *Demand
	ByPool []PoolFit // ByPool[i] is for the pool with index i
	// PerPod is the lowest price per pod, in dollars per hour: the price of a type divided by the number of pods that it
	// holds. It is +Inf if no type holds a pod.
	PerPod float64
}

// A PoolFit is the part of a Fit for one pool. Set is nil if no type of the pool holds such a pod, or if the pods do not
// tolerate the pool's taints.
type PoolFit struct {
	Set   *OfferSet
	Types typeset.Set // the types with an offering in Set that hold one pod
}

// Needs are what pods require of a new node.
type Needs struct {
	Terms       *NodeTerms
	Tolerations *Tolerations
	Demand      *Demand
	Ports       []Port
	// Extra are further label requirements: those of the topology domains that were chosen for the pods.
	Extra require.Set
	// Daemons excludes types by the DaemonSets whose pods may run on their nodes. Nil excludes none.
	Daemons *DaemonFilter
}

// A fitKey identifies the needs of a Fit in the cache.
type fitKey struct {
	terms, tolerations, demand, daemons int
	extra, ports                        string
}

// A setKey identifies an OfferSet in the cache: by pool, ID of the NodeTerms, index of the term in them, and
// Needs.Extra.
type setKey struct {
	pool, terms, term int
	extra             string
}

// Fit returns the offerings and types that hold a pod with these needs. For each pool it uses only the first of the node
// terms with which some type holds the pod.
func (c *Catalog) Fit(n Needs) *Fit {
	k := fitKey{terms: n.Terms.ID, tolerations: n.Tolerations.ID, demand: n.Demand.ID, daemons: n.Daemons.id(), extra: n.Extra.String()}
	if len(n.Ports) > 0 {
		k.ports = string(EncodePorts(nil, n.Ports))
	}
	if f, ok := c.fits[k]; ok {
		return f
	}
	f := &Fit{
		ID: len(c.fits), Demand: n.Demand, ByPool: make([]PoolFit, len(c.Pools)), PerPod: math.Inf(1),
	}
	c.fits[k] = f
	for i, p := range c.Pools {
		if _, refused := n.Tolerations.Refuse(p.Taints); refused {
			continue
		}
		for term := range n.Terms.Terms {
			if on, ok := c.fitTerm(p, &n, term, k.extra); ok {
				f.ByPool[i], f.OK = on, true
				break
			}
		}
		f.PerPod = min(f.PerPod, p.perPod(n.Demand, f.ByPool[i]))
	}
	return f
}

// fitTerm returns the offerings of p that meet n.Terms.Terms[term] and n.Extra, and the types that hold a pod, and false if
// there are none. extra is the text of n.Extra.
func (c *Catalog) fitTerm(p *Pool, n *Needs, term int, extra string) (PoolFit, bool) {
	k := setKey{p.Index, n.Terms.ID, term, extra}
	s, ok := c.byTerm[k]
	if !ok {
		s = p.OffersFor(n.Terms.Terms[term].And(n.Extra))
		c.byTerm[k] = s
	}
	if s == nil {
		return PoolFit{}, false
	}
	types := s.Types.And(c.holding(p, n.Demand))
	if len(n.Ports) > 0 {
		types = p.withoutPorts(types, n.Ports)
	}
	if n.Daemons != nil {
		types = p.withDaemons(types, s, n.Daemons)
	}
	return PoolFit{Set: s, Types: types}, types.Any()
}

// perPod returns the lowest price of p per pod with demand d, +Inf if no type of p holds such a pod.
func (p *Pool) perPod(d *Demand, f PoolFit) float64 {
	best := math.Inf(1)
	if f.Set == nil {
		return best
	}
	f.Types.Each(func(i int) {
		best = min(best, f.Set.Prices[i]/float64(vector.Copies(d.Amount, p.Types[i].Room, math.MaxInt32)))
	})
	return best
}

// withoutPorts returns the types of m whose DaemonSet pods use no host port that conflicts with one of ports.
func (p *Pool) withoutPorts(m typeset.Set, ports []Port) typeset.Set {
	out := typeset.New(len(p.Types))
	m.Each(func(i int) {
		if !PortsConflict(p.Types[i].Daemons.Ports, ports) {
			out.Add(i)
		}
	})
	return out
}

// holding returns the types of p on which an empty node holds one pod with demand d, volumes included.
func (c *Catalog) holding(p *Pool, d *Demand) typeset.Set {
	k := [2]int{d.ID, p.Index}
	if m, ok := c.held[k]; ok {
		return m
	}
	m := typeset.New(len(p.Types))
	for i := range p.Types {
		m.Add(i)
	}
	m = p.Bins().Index.Holding(m, d.Amount)
	c.held[k] = m
	return m
}

// Like reports whether f and o have the same OfferSet for each pool.
func (f *Fit) Like(o *Fit) bool {
	return slices.EqualFunc(f.ByPool, o.ByPool, func(a, b PoolFit) bool { return a.Set == b.Set })
}

// A NodeFilter selects the nodes whose pods a topology spread constraint counts, by nodeAffinityPolicy and
// nodeTaintsPolicy. A nil field excludes no nodes.
type NodeFilter struct {
	Terms       *NodeTerms
	Tolerations *Tolerations
}

// Tolerates reports whether the taints of p let its nodes pass the filter.
func (f NodeFilter) Tolerates(p *Pool) bool {
	return f.Tolerations == nil || !f.Tolerations.RefuseHard(p.Taints)
}

// Explain returns why no type of p both meets the term and holds the demand. If one does, the verdict is OK.
func (c *Catalog) Explain(p *Pool, term require.Set, d *Demand) model.Verdict {
	term = term.Normalize(c.settings.Labels.Aliases)
	if conflict, ok := p.Requirements.Compatible(term, c.settings.Known); !ok {
		return model.Verdict{Rule: model.RuleLabels, Subject: conflict.String()}
	}
	s := p.offersUnder(p.Requirements.And(term))
	if s.Empty() {
		return p.explainNoType(term)
	}
	if s.Types.And(c.holding(p, d)).Any() {
		return model.Verdict{}
	}
	most := make([]int64, len(d.Amount)) // by dimension, the largest Room of any type that meets the term
	s.Types.Each(func(i int) {
		for r, v := range p.Types[i].Room {
			most[r] = max(most[r], v)
		}
	})
	if r, by, missing := vector.Short(d.Amount, most); missing {
		if driver, volumes := c.volumes.Driver(r); volumes {
			return tooManyVolumes(driver, by)
		}
		return model.Verdict{Rule: model.RuleResources, Resource: c.volumes.dimensions.Names[r], By: by}
	}
	return model.Verdict{Rule: model.RuleShape}
}

// explainNoType returns the verdict on a term for which p has no available offering. The rule is RuleOffering if a type
// itself meets the term, and RuleLabels if none does.
func (p *Pool) explainNoType(term require.Set) model.Verdict {
	for _, t := range p.Types {
		if _, ok := t.Allowed.Intersects(term); ok {
			return model.Verdict{Rule: model.RuleOffering, Subject: "instance types with " + term.String()}
		}
	}
	return model.Verdict{Rule: model.RuleLabels, Subject: "no instance type of the NodePool has " + term.String()}
}
