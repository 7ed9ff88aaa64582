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

// A fitKey identifies the needs of a Fit in the cache. extra and ports are encodings of Needs.Extra and Needs.Ports.
type fitKey struct {
	terms        *NodeTerms
	tolerations  *Tolerations
	demand       *Demand
	daemons      *DaemonFilter
	extra, ports string
}

// Fit returns the offerings and types that hold a pod with these needs. For each pool it uses only the first of the node
// terms with which some type holds the pod.
func (c *Catalog) Fit(n Needs) *Fit {
	k := fitKey{n.Terms, n.Tolerations, n.Demand, n.Daemons, n.Extra.String(), string(EncodePorts(nil, n.Ports))}
	if f, ok := c.fits[k]; ok {
		return f
	}
	f := &Fit{ID: len(c.fits), Demand: n.Demand, ByPool: make([]PoolFit, len(c.Pools)), PerPod: math.Inf(1)}
	c.fits[k] = f
	for i, p := range c.Pools {
		if _, refused := n.Tolerations.Refuse(p.Taints); refused {
			continue
		}
		for _, term := range n.Terms.Terms {
			s := p.OffersFor(term.And(n.Extra))
			if s == nil {
				continue
			}
			if types, perPod := p.holding(s, &n); types.Any() {
				f.ByPool[i], f.PerPod = PoolFit{Set: s, Types: types}, min(f.PerPod, perPod)
				break
			}
		}
	}
	return f
}

// holding returns the types of s whose new nodes hold a pod with the needs n, and the lowest price of these types per pod.
func (p *Pool) holding(s *OfferSet, n *Needs) (types typeset.Set, perPod float64) {
	types, perPod = typeset.New(len(p.Types)), math.Inf(1)
	s.Types.Each(func(i int) {
		t := p.Types[i]
		copies := vector.Copies(n.Demand.Amount, t.Room, math.MaxInt32)
		if copies > 0 && !PortsConflict(t.Daemons.Ports, n.Ports) && (n.Daemons == nil || n.Daemons.admits(p.daemonsOn(s, i))) {
			types.Add(i)
			perPod = min(perPod, s.Prices[i]/float64(copies))
		}
	})
	return types, perPod
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
	s := p.OffersFor(term)
	if s == nil {
		return p.explainNoOffer(term.Normalize(p.settings.Labels.Aliases))
	}
	fits := false
	most := make([]int64, len(d.Amount)) // by dimension, the largest Room of any type that meets the term
	s.Types.Each(func(i int) {
		room := p.Types[i].Room
		fits = fits || vector.Fits(d.Amount, room)
		for r, v := range room {
			most[r] = max(most[r], v)
		}
	})
	if fits {
		return model.Verdict{}
	}
	if r, by, missing := vector.Short(d.Amount, most); missing {
		return c.volumes.exceeded(r, by)
	}
	return model.Verdict{Rule: model.RuleShape}
}

// explainNoOffer returns the verdict on a term for which p has no available offering. The rule is RuleOffering if the pool and
// a type itself meet the term, otherwise RuleLabels.
func (p *Pool) explainNoOffer(term require.Set) model.Verdict {
	if conflict, ok := p.Requirements.Compatible(term, p.settings.Known); !ok {
		return model.Verdict{Rule: model.RuleLabels, Subject: conflict.String()}
	}
	for _, t := range p.Types {
		if _, ok := t.Allowed.Intersects(term); ok {
			return model.Verdict{Rule: model.RuleOffering, Subject: "instance types with " + term.String()}
		}
	}
	return model.Verdict{Rule: model.RuleLabels, Subject: "no instance type of the NodePool has " + term.String()}
}
