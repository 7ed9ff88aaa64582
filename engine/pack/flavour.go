package pack

import (
	"math"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// A flavour is a set of label requirements within one pool, with what each shape costs under them. Classes that ask for
// the same labels share one; pods of two flavours may share a node if the flavours join.
type flavour struct {
	reqs require.Set
	// price is that of the cheapest offering of each of the pool's shapes, +Inf where there is none.
	price []float64
	// diverse says that some requirement has minValues.
	diverse bool
}

// A shelf holds the flavours of one pool, each once.
type shelf struct {
	pool     *pool
	flavours []*flavour
	byName   map[string]int
	// joined remembers the flavour that two make together, -1 if they contradict each other.
	joined map[[2]int]int
}

// plain is the flavour that asks for nothing beyond the pool.
const plain = 0

func newShelf(p *pool) *shelf {
	s := &shelf{pool: p, byName: map[string]int{}, joined: map[[2]int]int{}}
	s.add(p.Requirements)
	return s
}

// add returns the index of the flavour with these requirements.
func (s *shelf) add(reqs require.Set) int {
	name := reqs.String()
	if i, ok := s.byName[name]; ok {
		return i
	}
	f := &flavour{reqs: reqs, price: make([]float64, len(s.pool.shapes))}
	for i, sh := range s.pool.shapes {
		f.price[i] = sh.priceFor(reqs)
	}
	for r := range reqs.All() {
		f.diverse = f.diverse || r.MinValues() > 0
	}
	s.flavours = append(s.flavours, f)
	s.byName[name] = len(s.flavours) - 1
	return len(s.flavours) - 1
}

// priceFor returns the price of the cheapest offering under reqs, +Inf if there is none.
func (sh *shape) priceFor(reqs require.Set) float64 {
	if _, ok := sh.reqs.Intersects(reqs); !ok {
		return math.Inf(1)
	}
	if o, ok := sh.cheapest(reqs); ok {
		return o.Price
	}
	return math.Inf(1)
}

func (sh *shape) cheapest(reqs require.Set) (model.Offering, bool) {
	for _, o := range sh.offers {
		if _, ok := reqs.Intersects(o.Requirements); ok {
			return o, true
		}
	}
	return model.Offering{}, false
}

// join returns the flavour of a node that holds pods of both a and b, or -1 if there can be none.
func (s *shelf) join(a, b int) int {
	if a == b || b == plain {
		return a
	}
	if a == plain {
		return b
	}
	key := [2]int{min(a, b), max(a, b)}
	if j, ok := s.joined[key]; ok {
		return j
	}
	j := -1
	if _, ok := s.flavours[a].reqs.Intersects(s.flavours[b].reqs); ok {
		j = s.add(s.flavours[a].reqs.And(s.flavours[b].reqs))
	}
	s.joined[key] = j
	return j
}

// A fit says in which flavour a class goes into a pool and which of its shapes hold one of its pods; or why none does.
type fit struct {
	flavour int
	holds   []bool
	verdict model.Verdict
}

// judge finds the first of the class's terms under which some shape of the pool holds one of its pods. The verdict is
// that of the term that came furthest.
func (s *shelf) judge(c *class, cols columns, o Options) fit {
	if taint, ok := tolerates(c.tolerations, s.pool.Taints); !ok {
		return fit{verdict: model.Verdict{Rule: model.RuleTaint, Subject: taintName(taint)}}
	}
	if len(s.pool.shapes) == 0 {
		return fit{verdict: s.pool.empty}
	}
	var best fit
	for i, term := range c.terms {
		f := s.judgeTerm(c, term, cols, o)
		if f.verdict.OK() {
			return f
		}
		if i == 0 || f.verdict.Rule > best.verdict.Rule {
			best = f
		}
	}
	return best
}

func (s *shelf) judgeTerm(c *class, term require.Set, cols columns, o Options) fit {
	if conflict, ok := s.pool.Requirements.Compatible(term, o.wellKnown); !ok {
		return fit{verdict: model.Verdict{Rule: model.RuleLabels, Subject: conflict.String()}}
	}
	f := fit{flavour: s.add(s.pool.Requirements.And(term)), holds: make([]bool, len(s.pool.shapes))}
	prices := s.flavours[f.flavour].price
	most := make([]int64, len(cols)) // the largest room of any shape that the labels allow
	labels, held := false, false
	for i, sh := range s.pool.shapes {
		if math.IsInf(prices[i], 1) {
			continue
		}
		labels = true
		if _, _, missing := short(c.need, sh.room); !missing {
			f.holds[i], held = true, true
		}
		for r, v := range sh.room {
			most[r] = max(most[r], v)
		}
	}
	switch {
	case held:
	case !labels:
		f.verdict = s.noShape(term)
	default:
		f.verdict = model.Verdict{Rule: model.RuleShape}
		if r, by, missing := short(c.need, most); missing {
			f.verdict = model.Verdict{Rule: model.RuleResources, Resource: cols[r], By: by}
		}
	}
	return f
}

// noShape tells a label that no type of the pool has from one whose types are all out.
func (s *shelf) noShape(term require.Set) model.Verdict {
	for _, sh := range s.pool.shapes {
		if _, ok := sh.reqs.Intersects(term); ok {
			return model.Verdict{Rule: model.RuleOffering, Subject: term.String()}
		}
	}
	return model.Verdict{Rule: model.RuleLabels, Subject: "no instance type of the pool has " + term.String()}
}

func taintName(t corev1.Taint) string {
	if t.Value == "" {
		return t.Key + ":" + string(t.Effect)
	}
	return t.Key + "=" + t.Value + ":" + string(t.Effect)
}
