package pack

import (
	"cmp"
	"math"
	"slices"
)

// An order picks the class to put next on a node that has room left, or -1.
type order func(t *tier, room []int64, open []int) int

// orders are the ways in which a shape is filled; the best outcome counts. Large pods first leaves the gaps to the small;
// matching the shape of the room that is left keeps one resource from running out early (Panigrahy et al. 2011, the dot
// product heuristic).
var orders = []order{byWorth, byMatch}

// byWorth takes the class whose pod is worth most. open is in that order already.
func byWorth(_ *tier, _ []int64, open []int) int {
	if len(open) == 0 {
		return -1
	}
	return open[0]
}

// byMatch takes the class whose needs point most nearly in the direction of the room that is left, each column weighed by
// its worth.
func byMatch(t *tier, room []int64, open []int) int {
	best, score := -1, math.Inf(-1)
	left := t.cols.scale(room)
	for _, i := range open {
		along, length, size := 0.0, 0.0, 0.0
		for r, v := range t.need[i] {
			w := float64(t.worth[r] * t.worth[r])
			along += float64(w * float64(v*left[r]))
			length += float64(w * float64(v*v))
			size += float64(w * float64(left[r]*left[r]))
		}
		s := 0.0
		if length > 0 && size > 0 {
			s = along / math.Sqrt(length*size)
		}
		if s > score+epsilon {
			best, score = i, s
		}
	}
	return best
}

// pattern fills the candidate in the given order and returns what came of it, nil if not one pod went in.
func (t *tier) pattern(c candidate, pick order) *pattern {
	s := t.problem.shelves[c.shelf]
	p := &pattern{opened: opened{shelf: s, shape: c.shape, flavour: plain}}
	room := slices.Clone(s.pool.shapes[c.shape].room)
	open := t.openClasses(c)
	count := map[int]int{}
	for len(open) > 0 {
		i := pick(t, room, open)
		if i < 0 {
			break
		}
		n := t.admit(p, i, c, room, count[i])
		if n == 0 {
			open = slices.DeleteFunc(open, func(x int) bool { return x == i })
			continue
		}
		count[i] += n
		subtract(room, t.problem.classes[i].need, n)
		p.value += float64(t.value[i] * float64(n))
	}
	for _, i := range t.classes { // in class order, so that equal patterns look equal
		if count[i] > 0 {
			p.share = append(p.share, portion{class: i, n: count[i]})
		}
	}
	if len(p.share) == 0 {
		return nil
	}
	p.price = max(s.flavours[p.flavour].price[c.shape], minPrice)
	return p
}

// openClasses returns the classes that the candidate holds, most worth first.
func (t *tier) openClasses(c candidate) []int {
	var open []int
	for _, i := range t.classes {
		f := &t.fits[i][c.shelf]
		if t.problem.classes[i].left() > 0 && f.verdict.OK() && f.holds[c.shape] {
			open = append(open, i)
		}
	}
	slices.SortStableFunc(open, func(a, b int) int { return cmp.Compare(t.value[b], t.value[a]) })
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
