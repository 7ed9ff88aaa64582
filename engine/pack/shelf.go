package pack

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// A mask is a set of the shapes of one pool, by index.
type mask []uint64

func newMask(n int) mask      { return make(mask, (n+63)/64) }
func (m mask) set(i int)      { m[i/64] |= 1 << (i % 64) }
func (m mask) unset(i int)    { m[i/64] &^= 1 << (i % 64) }
func (m mask) has(i int) bool { return m[i/64]&(1<<(i%64)) != 0 }
func (m mask) and(o mask) mask {
	out := make(mask, len(m))
	for i := range m {
		out[i] = m[i] & o[i]
	}
	return out
}

// bytes returns m as bytes, to look things up by.
func (m mask) bytes() []byte {
	out := make([]byte, 0, 8*len(m))
	for _, w := range m {
		out = binary.LittleEndian.AppendUint64(out, w)
	}
	return out
}

func (m mask) any() bool { return slices.ContainsFunc(m, func(w uint64) bool { return w != 0 }) }

// each calls f for every shape in m, in order.
func (m mask) each(f func(i int)) {
	for w, word := range m {
		for ; word != 0; word &= word - 1 {
			f(w*64 + bits.TrailingZeros64(word))
		}
	}
}

// sums counts in how many masks each shape is. The i-th of its masks holds bit i of every count, so that one word of a mask
// is added to 64 counts at a time.
type sums []mask

func (s *sums) add(m mask) {
	for w, carry := range m {
		for i := 0; carry != 0; i++ {
			if i == len(*s) {
				*s = append(*s, make(mask, len(m)))
			}
			word := &(*s)[i][w]
			*word, carry = *word^carry, *word&carry
		}
	}
}

func (s sums) of(shape int) int {
	n := 0
	for i, m := range s {
		if m.has(shape) {
			n |= 1 << i
		}
	}
	return n
}

// A flavour is a set of label requirements within one pool, with what each shape costs under them. Classes that ask for
// the same labels share one; pods of two flavours may share a node if the flavours join.
type flavour struct {
	id   int
	reqs require.Set
	// tariff is the same for flavours with equal prices.
	tariff int
	// price is that of the cheapest offering of each of the pool's shapes, +Inf where there is none.
	price   []float64
	allowed mask  // the shapes with a price
	byPrice []int // the same, cheapest first, once somebody asked
	some    bool
	crews   [][]crewman // of each shape, once somebody asked
	guests  map[int]guests
	// diverse says that some requirement has minValues.
	diverse bool
}

// A shelf holds the flavours of one pool, each once.
type shelf struct {
	pool     *pool
	index    int
	flavours []*flavour
	byName   map[string]*flavour
	// residents are the daemons that matter to somebody and that the pool's taints let in.
	residents []resident
	choosy    bool // some of them select nodes
	// crewOn returns the hands that a node of shape j will have in the flavour; nil if nobody is choosy.
	crewOn func(fl *flavour, j int) []crewman
	// joined remembers the flavour that two make together, nil if they contradict each other.
	joined map[[2]int]*flavour
	// tariffs numbers the lists of prices.
	tariffs map[string]int
	// rungs and menus say which shapes hold what; name and scratch are memory to look them up with.
	rungs   []ladder
	asked   int
	menus   map[menuKey]*menu
	name    []byte
	scratch mask
}

func newShelf(p *pool, index int) *shelf {
	return &shelf{pool: p, index: index, byName: map[string]*flavour{}, joined: map[[2]int]*flavour{}, tariffs: map[string]int{}}
}

// add returns the flavour with these requirements.
func (s *shelf) add(reqs require.Set) *flavour {
	name := reqs.String()
	if f, ok := s.byName[name]; ok {
		return f
	}
	n := len(s.pool.shapes)
	f := &flavour{id: len(s.flavours), reqs: reqs, price: make([]float64, n), allowed: newMask(n)}
	for i, sh := range s.pool.shapes {
		f.price[i] = sh.priceFor(reqs)
		if f.price[i] < inf {
			f.price[i] = max(f.price[i], minPrice)
			f.allowed.set(i)
			f.some = true
		}
	}
	for r := range reqs.All() {
		f.diverse = f.diverse || r.MinValues() > 0
	}
	list := make([]byte, 0, 8*n)
	for _, v := range f.price {
		list = binary.LittleEndian.AppendUint64(list, math.Float64bits(v))
	}
	at, ok := s.tariffs[string(list)]
	if !ok {
		at = len(s.tariffs)
		s.tariffs[string(list)] = at
	}
	f.tariff = at
	s.flavours = append(s.flavours, f)
	s.byName[name] = f
	return f
}

// inf is more than any price, minPrice stands in for a price of zero, which would make any waste look free.
const (
	inf      = math.MaxFloat64
	minPrice = 1e-9
)

// priceFor returns the price of the cheapest offering under reqs, more than inf if there is none.
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

// join returns the flavour of a node that holds pods of both a and b, or nil if there can be none.
func (s *shelf) join(a, b *flavour) *flavour {
	if a == b {
		return a
	}
	key := [2]int{min(a.id, b.id), max(a.id, b.id)}
	if j, ok := s.joined[key]; ok {
		return j
	}
	var j *flavour
	if _, ok := a.reqs.Intersects(b.reqs); ok {
		if j = s.add(a.reqs.And(b.reqs)); !j.some {
			j = nil
		}
	}
	s.joined[key] = j
	return j
}

// flavourFor returns the flavour of pods that ask for term, nil if the pool's labels cannot meet it.
func (s *shelf) flavourFor(term require.Set, o Options) *flavour {
	term = term.Normalize(o.Labels.Aliases)
	if _, ok := s.pool.Requirements.Compatible(term, o.wellKnown); !ok {
		return nil
	}
	return s.add(s.pool.Requirements.And(term))
}

// A fit says in which flavour pods go onto each shelf, and which of its shapes hold one of them.
type fit struct {
	id   int
	ok   bool
	need *need
	on   []shelfFit
	// perPod is the lowest price at which a pod is held, its node full of its like.
	perPod float64
	// picky says that something keeps the pods off shapes that have room for them and the labels.
	picky bool
}

// A shelfFit has no flavour where the pods do not go.
type shelfFit struct {
	flavour *flavour
	holds   mask
}

// A fitKey is what a fit depends on.
type fitKey struct {
	labels, tolerance, need, wary int
	extra, ports                  string
}

// fitOf returns the fit of pods like those of c in nodes with the labels of extra and daemons as w has them.
func (p *problem) fitOf(labels *alternatives, t *tolerance, c *class, extra require.Set, w *wariness) *fit {
	k := fitKey{labels: labels.id, tolerance: t.id, need: c.need.id, wary: w.number(), extra: extra.String()}
	if len(c.ports) > 0 {
		k.ports = string(putPorts(nil, c.ports))
	}
	if f, ok := p.fits[k]; ok {
		return f
	}
	f := &fit{id: len(p.fits), need: c.need, on: make([]shelfFit, len(p.shelves)), perPod: math.Inf(1), picky: len(c.ports) > 0 || w != nil}
	p.fits[k] = f
	for i, s := range p.shelves {
		if _, refused := t.refuses(s.pool.Taints); refused {
			continue
		}
		roomy := p.roomy(c.need, i)
		for turn := range labels.terms {
			fl := p.flavourOf(s, labels, turn, extra, k.extra)
			if fl == nil || !fl.some {
				continue
			}
			holds := fl.allowed.and(roomy)
			if len(c.ports) > 0 {
				holds = s.withoutPorts(holds, c.ports)
			}
			if w != nil {
				holds = p.suited(holds, s, fl, w)
			}
			if holds.any() {
				f.on[i] = shelfFit{flavour: fl, holds: holds}
				f.ok = true
				break
			}
		}
		f.perPod = min(f.perPod, p.perPod(c.need, s, f.on[i]))
	}
	return f
}

// A flavourKey is what the flavour of pods on a shelf depends on.
type flavourKey struct {
	shelf, labels, term int
	extra               string
}

// flavourOf returns the flavour of pods on s that ask for one of the terms of labels, and for what extra says; text is extra as
// such.
func (p *problem) flavourOf(s *shelf, labels *alternatives, term int, extra require.Set, text string) *flavour {
	k := flavourKey{s.index, labels.id, term, text}
	f, ok := p.flavourAt[k]
	if !ok {
		f = s.flavourFor(labels.terms[term].And(extra), p.opts)
		p.flavourAt[k] = f
	}
	return f
}

func (p *problem) perPod(n *need, s *shelf, f shelfFit) float64 {
	best := math.Inf(1)
	if f.flavour == nil {
		return best
	}
	f.holds.each(func(j int) {
		best = min(best, f.flavour.price[j]/float64(s.pool.shapes[j].copies(n, math.MaxInt32)))
	})
	return best
}

// withoutPorts returns the shapes of m on which no daemon holds one of the ports.
func (s *shelf) withoutPorts(m mask, ports []port) mask {
	out := newMask(len(s.pool.shapes))
	m.each(func(j int) {
		if !slices.ContainsFunc(s.pool.shapes[j].ports, func(q port) bool {
			return slices.ContainsFunc(ports, q.clash)
		}) {
			out.set(j)
		}
	})
	return out
}

// roomy returns the shapes of a shelf that have room for one pod with this need.
func (p *problem) roomy(n *need, shelf int) mask {
	for len(p.roomFor) <= n.id {
		p.roomFor = append(p.roomFor, make([]mask, len(p.shelves)))
	}
	if m := p.roomFor[n.id][shelf]; m != nil {
		return m
	}
	on := p.shelves[shelf]
	m := newMask(len(on.pool.shapes))
	for j := range on.pool.shapes {
		m.set(j)
	}
	m = on.holding(m, n.amount, n.cargo)
	p.roomFor[n.id][shelf] = m
	return m
}

// explain returns why shelf k takes no pod of class c in the last of its stages.
func (p *problem) explain(c *class, k int) model.Verdict {
	s, last := p.shelves[k], &c.stages[len(c.stages)-1]
	if taint, refused := last.tolerance.refuses(s.pool.Taints); refused {
		return model.Verdict{Rule: model.RuleTaint, Subject: taintName(taint)}
	}
	if len(s.pool.shapes) == 0 {
		return s.pool.empty
	}
	var best model.Verdict
	for i, term := range last.labels.terms {
		v := p.explainTerm(c, s, term)
		if v.OK() {
			return p.explainRest(c, last, s, k)
		}
		if i == 0 || v.Rule > best.Rule {
			best = v
		}
	}
	return best
}

func (p *problem) explainTerm(c *class, s *shelf, term require.Set) model.Verdict {
	term = term.Normalize(p.opts.Labels.Aliases)
	if conflict, ok := s.pool.Requirements.Compatible(term, p.opts.wellKnown); !ok {
		return model.Verdict{Rule: model.RuleLabels, Subject: conflict.String()}
	}
	f := s.add(s.pool.Requirements.And(term))
	if !f.some {
		return s.noShape(term)
	}
	if f.allowed.and(p.roomy(c.need, s.index)).any() {
		return model.Verdict{}
	}
	most := make([]int64, len(p.cols)) // the largest room of any shape that the labels allow
	f.allowed.each(func(j int) {
		for r, v := range s.pool.shapes[j].room {
			most[r] = max(most[r], v)
		}
	})
	if r, by, missing := short(c.need.whole(), most); missing {
		if driver, volumes := p.driver(r); volumes {
			return unattachable(driver, by)
		}
		return model.Verdict{Rule: model.RuleResources, Resource: p.cols[r], By: by}
	}
	return model.Verdict{Rule: model.RuleShape}
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

// explainRest returns why a pod that would find a shape in the pool is refused all the same: a limit, minValues, or what
// it asks of other pods.
func (p *problem) explainRest(c *class, s *stage, sh *shelf, k int) model.Verdict {
	f := p.fitOf(s.labels, s.tolerance, c, require.Set{}, s.wary)
	on := f.on[k]
	if on.flavour == nil {
		if s.wary != nil && p.fitOf(s.labels, s.tolerance, c, require.Set{}, nil).on[k].flavour != nil {
			return model.Verdict{Rule: model.RuleTopology, Subject: "what it and the daemons of new nodes ask of each other"}
		}
		return model.Verdict{Rule: model.RulePorts, Subject: "a daemon on every node takes its host port"}
	}
	var nearest model.Verdict
	free := false
	on.holds.each(func(j int) {
		n, v := sh.pool.affords(sh.pool.shapes[j])
		free = free || n > 0
		if nearest.OK() || (v.Resource == nearest.Resource && v.By < nearest.By) {
			nearest = v
		}
	})
	if !free {
		return nearest
	}
	if key, ok := p.launches(sh, on, c.need); !ok {
		if v := p.explainToll(sh, on, c.need); !v.OK() {
			return v
		}
		return model.Verdict{Rule: model.RuleMinValues, Subject: key}
	}
	if v := p.explainRules(c, s); !v.OK() {
		return v
	}
	return model.Verdict{Rule: model.RuleEffort}
}

func taintName(t corev1.Taint) string {
	if t.Value == "" {
		return t.Key + ":" + string(t.Effect)
	}
	return t.Key + "=" + t.Value + ":" + string(t.Effect)
}
