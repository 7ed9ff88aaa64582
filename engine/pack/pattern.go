package pack

import (
	"cmp"
	"math"
	"slices"
)

// An order fills a shape: it adds pods to the pattern until nothing more goes in.
type order func(t *tier, f *filling)

// orders are the ways in which a shape is filled; the best outcome counts. Large pods first leaves the gaps to the small;
// matching the shape of the room that is left keeps one resource from running out early (Panigrahy et al. 2011, the dot
// product heuristic).
var orders = [...]order{byWorth, byMatch}

// A filling is a pattern in the making.
type filling struct {
	pattern
	candidate candidate
	room      []int64
	// open are the classes that the candidate holds, most worth first; count is parallel.
	open  []int
	count []int
}

// add puts as many pods of open class k on as one step may, and returns how many.
func (f *filling) add(t *tier, k int) int {
	i := f.open[k]
	n := t.admit(&f.pattern, i, f.candidate, f.room, f.count[k])
	if n > 0 {
		f.count[k] += n
		subtract(f.room, t.problem.classes[i].need, n)
		f.value += float64(t.value[i] * float64(n))
	}
	return n
}

// byWorth takes the class whose pod is worth most for as long as it goes in, then the next.
func byWorth(t *tier, f *filling) {
	for k := range f.open {
		for f.add(t, k) > 0 {
		}
	}
}

// byMatch takes the class whose needs point most nearly in the direction of the room that is left, each column weighed by
// its worth.
func byMatch(t *tier, f *filling) {
	full := make([]bool, len(f.open))
	for {
		best, score := -1, math.Inf(-1)
		left := t.cols.scale(f.room)
		for k, i := range f.open {
			if full[k] {
				continue
			}
			if s := t.match(left, i); s > score+epsilon {
				best, score = k, s
			}
		}
		if best < 0 {
			return
		}
		full[best] = f.add(t, best) == 0
	}
}

// match returns the cosine of the angle between what class i needs and what is left, each column weighed by its worth.
func (t *tier) match(left []float64, i int) float64 {
	along, length, size := 0.0, 0.0, 0.0
	for r, v := range t.need[i] {
		w := float64(t.worth[r] * t.worth[r])
		along += float64(w * float64(v*left[r]))
		length += float64(w * float64(v*v))
		size += float64(w * float64(left[r]*left[r]))
	}
	if length == 0 || size == 0 {
		return 0
	}
	return along / math.Sqrt(length*size)
}

// pattern fills the candidate in the given order and returns what came of it, nil if not one pod went in.
func (t *tier) pattern(c candidate, fill order) *pattern {
	s := t.problem.shelves[c.shelf]
	f := &filling{candidate: c, room: slices.Clone(s.pool.shapes[c.shape].room), open: t.openClasses(c)}
	f.opened = opened{shelf: s, shape: c.shape, flavour: plain}
	f.count = make([]int, len(f.open))
	fill(t, f)
	for k, n := range f.count {
		if n > 0 {
			f.share = append(f.share, portion{class: f.open[k], n: n})
		}
	}
	if len(f.share) == 0 {
		return nil
	}
	// In class order, so that equal patterns look equal.
	slices.SortFunc(f.share, func(a, b portion) int { return cmp.Compare(a.class, b.class) })
	f.price = max(s.flavours[f.flavour].price[c.shape], minPrice)
	return &f.pattern
}

// openClasses returns the classes that the candidate holds, most worth first.
func (t *tier) openClasses(c candidate) []int {
	var open []int
	for _, i := range t.byValue {
		f := &t.fits[i][c.shelf]
		if t.problem.classes[i].left() > 0 && f.verdict.OK() && f.holds[c.shape] {
			open = append(open, i)
		}
	}
	return open
}

// admit returns how many pods of class i to add now: about half of what fits, so that another class may match better
// afterwards. It narrows the pattern's flavour if the class asks for labels. A class that would make the node dearer by
// more than its pods are worth stays out.
func (t *tier) admit(p *pattern, i int, c candidate, room []int64, already int) int {
	cl := t.problem.classes[i]
	n := copies(cl.need, room, cl.left()-already)
	if n == 0 {
		return 0
	}
	f := p.shelf.join(p.flavour, t.fits[i][c.shelf].flavour)
	if f < 0 {
		return 0
	}
	before, after := p.shelf.flavours[p.flavour].price[c.shape], p.shelf.flavours[f].price[c.shape]
	if math.IsInf(after, 1) || (p.value > 0 && after-before > float64(t.value[i]*float64(n))) {
		return 0
	}
	n = t.keepDiverse(p.shelf, f, c, room, cl.need, (n+1)/2)
	if n > 0 {
		p.flavour = f
	}
	return n
}

// keepDiverse returns the largest of n, n/2, n/4, ... pods that leave as many different options for the node as the pool's
// minValues ask for; n itself for a pool that asks for none, or when the policy relaxes it.
func (t *tier) keepDiverse(s *shelf, flavour int, c candidate, room, need []int64, n int) int {
	if t.opts.RelaxMinValues || !s.flavours[flavour].diverse {
		return n
	}
	whole := s.pool.shapes[c.shape].room
	for ; n > 0; n /= 2 {
		used := slices.Clone(whole)
		subtract(used, room, 1)
		subtract(used, need, -n)
		if _, ok := minValues(s.flavours[flavour], t.options(s, flavour, used)); ok {
			return n
		}
	}
	return 0
}
