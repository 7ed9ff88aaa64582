package pack

import (
	"cmp"
	"math"
	"slices"
)

// A tier is the pools of one weight at work: it opens nodes for the classes that fit one of them.
type tier struct {
	*problem
	shelves []int // indexes into problem.shelves
	classes []int // indexes into problem.classes
	// worth is what a unit of each column is worth for the pods that are left, in dollars per hour.
	worth []float64
	value []float64 // of one pod, by class
	total float64   // of all pods left
	// byValue are the classes, most worth first.
	byValue []int
	need    [][]float64
}

// An opened node is a pattern that was taken: how many pods of each class share one shape.
type opened struct {
	shelf   *shelf
	shape   int
	flavour int
	share   []portion
}

// A portion is a number of pods of one class.
type portion struct{ class, n int }

// A pattern is a candidate for opening.
type pattern struct {
	opened
	price, value float64
}

// ratio is the worth that a dollar buys; at most one, by duality.
func (p *pattern) ratio() float64 { return p.value / p.price }

func newTier(p *problem, from, to int) *tier {
	t := &tier{problem: p}
	for k := from; k < to; k++ {
		t.shelves = append(t.shelves, k)
	}
	t.need = make([][]float64, len(p.classes))
	t.value = make([]float64, len(p.classes))
	for i, c := range p.classes {
		if c.left() == 0 || !c.refusal.OK() {
			continue
		}
		if slices.ContainsFunc(t.shelves, func(k int) bool { return p.fits[i][k].verdict.OK() }) {
			t.classes = append(t.classes, i)
			t.need[i] = p.cols.scale(c.need)
		}
	}
	return t
}

// fill opens nodes until no class of the tier has pods left that a pool may still take.
//
// Each round prices the resources anew by the relaxation of what is left, opens the pattern that holds the most worth per
// dollar, and repeats it as often as demand and limits allow.
func (t *tier) fill() {
	for range t.opts.MaxPatterns {
		if !t.price() {
			return
		}
		best := t.best()
		if best == nil {
			return
		}
		t.take(best)
	}
}

// candidate is a shape that may be opened now.
type candidate struct {
	shelf, shape int
	price        float64
	bound        float64 // no pattern of it has a higher ratio
}

// candidates returns the shapes that the limits allow and that hold some class with pods left.
func (t *tier) candidates() []candidate {
	var out []candidate
	for _, k := range t.shelves {
		s := t.problem.shelves[k]
		for j, sh := range s.pool.shapes {
			price := math.Inf(1)
			for _, i := range t.classes {
				f := &t.fits[i][k]
				if t.problem.classes[i].left() > 0 && f.verdict.OK() && f.holds[j] {
					price = min(price, s.flavours[f.flavour].price[j])
				}
			}
			if math.IsInf(price, 1) {
				continue
			}
			if n, _ := s.pool.affords(sh.typ); n > 0 {
				out = append(out, candidate{shelf: k, shape: j, price: max(price, minPrice)})
			}
		}
	}
	return out
}

// minPrice stands in for a price of zero, which would make any waste look free.
const minPrice = 1e-9

// price sets the worth of everything for the pods that are left. It returns false when nothing can be opened.
func (t *tier) price() bool {
	cands := t.candidates()
	if len(cands) == 0 {
		return false
	}
	need := make([]float64, len(t.cols))
	for _, i := range t.classes {
		if !t.servable(i, cands) {
			continue
		}
		for r, v := range t.need[i] {
			need[r] += float64(v * float64(t.problem.classes[i].left()))
		}
	}
	rooms, prices := make([][]float64, len(cands)), make([]float64, len(cands))
	for n, c := range cands {
		rooms[n] = t.cols.scale(t.problem.shelves[c.shelf].pool.shapes[c.shape].room)
		prices[n] = c.price
	}
	_, t.worth = relax(need, rooms, prices)
	t.total = 0
	for _, i := range t.classes {
		t.value[i] = dot(t.worth, t.need[i])
		if t.value[i] == 0 {
			t.value[i] = minPrice // a pod that asks for nothing scarce still wants a place
		}
		t.total += float64(t.value[i] * float64(t.problem.classes[i].left()))
	}
	t.byValue = slices.Clone(t.classes)
	slices.SortStableFunc(t.byValue, func(a, b int) int { return cmp.Compare(t.value[b], t.value[a]) })
	return t.total > 0
}

// servable reports whether some candidate holds a pod of class i.
func (t *tier) servable(i int, cands []candidate) bool {
	if t.problem.classes[i].left() == 0 {
		return false
	}
	return slices.ContainsFunc(cands, func(c candidate) bool {
		f := &t.fits[i][c.shelf]
		return f.verdict.OK() && f.holds[c.shape]
	})
}

// tried is how many shapes are filled in each round, the most promising by their bound: fewer when there are many classes,
// so that a round costs about the same.
func (t *tier) tried() int { return max(6, min(48, 10_000/max(len(t.classes), 1))) }

// best returns the pattern with the highest ratio; of equals the one with more worth, so that ties go to fewer nodes, then
// by name.
func (t *tier) best() *pattern {
	cands := t.candidates()
	for n := range cands {
		c := &cands[n]
		sh := t.problem.shelves[c.shelf].pool.shapes[c.shape]
		c.bound = min(dot(t.worth, t.cols.scale(sh.room)), t.total) / c.price
	}
	slices.SortStableFunc(cands, func(a, b candidate) int { return cmp.Compare(b.bound, a.bound) })
	var best *pattern
	tried := t.tried()
	for n, c := range cands {
		if n >= tried && best != nil {
			break
		}
		for _, order := range orders {
			if p := t.pattern(c, order); p != nil && better(p, best) {
				best = p
			}
		}
	}
	return best
}

// same is the relative difference below which two ratios count as equal.
const same = 1e-6

func better(p, than *pattern) bool {
	if than == nil {
		return true
	}
	a, b := p.ratio(), than.ratio()
	if math.Abs(a-b) > same*max(a, b) {
		return a > b
	}
	return p.value > than.value*(1+same)
}

// take opens p as often as the pods left and the limits allow.
func (t *tier) take(p *pattern) {
	sh := p.shelf.pool.shapes[p.shape]
	times, _ := p.shelf.pool.affords(sh.typ)
	for _, part := range p.share {
		times = min(times, int64(t.problem.classes[part.class].left()/part.n))
	}
	for range times {
		t.nodes = append(t.nodes, &opened{shelf: p.shelf, shape: p.shape, flavour: p.flavour, share: p.share})
		for _, part := range p.share {
			t.problem.classes[part.class].next += part.n
		}
	}
	p.shelf.pool.debit(sh.typ, times)
}
