package pack

import (
	"math/bits"
	"slices"
)

// Gaps knows, for the room that is left on a node, which two articles of those that fit there are worth most. Room is told
// apart as far as it makes a difference to what fits.
type gaps struct {
	x, y   scale
	best   [][2]int32 // by step of x and y: numbers of articles, the best first; none if there is no other
	listed int        // how many articles there are
}

// A scale has the amounts of one column that articles ask for, in order: maxSteps of them at most, the next one stands for those
// between. So an article may seem larger than it is, never smaller.
type scale struct {
	steps []int64
	at    []int16 // how many steps are no more than i<<shift
	shift int
}

const (
	maxSteps  = 256
	maxGrains = 2048
	none      = 1<<31 - 1
)

func (s *scale) set(amounts []int64) {
	slices.Sort(amounts)
	amounts = slices.Compact(amounts)
	stride := (len(amounts) + maxSteps - 1) / maxSteps
	s.steps = s.steps[:0]
	for i := (len(amounts) - 1) % stride; i < len(amounts); i += stride {
		s.steps = append(s.steps, amounts[i])
	}
	most := s.steps[len(s.steps)-1]
	s.shift = max(0, bits.Len64(uint64(most))-bits.Len(maxGrains-1))
	s.at = s.at[:0]
	n := 0
	for i := range most>>s.shift + 1 {
		for n < len(s.steps) && s.steps[n] <= i<<s.shift {
			n++
		}
		s.at = append(s.at, int16(n))
	}
}

// upTo returns how many steps are at most v, which is not negative.
func (s *scale) upTo(v int64) int {
	g := v >> s.shift
	if g >= int64(len(s.at)) {
		return len(s.steps)
	}
	n := int(s.at[g])
	for n < len(s.steps) && s.steps[n] <= v {
		n++
	}
	return n
}

// set learns the articles, which come with the most worth first.
func (g *gaps) set(open []article, buf []int64) []int64 {
	g.listed = len(open)
	buf = buf[:0]
	for i := range open {
		buf = append(buf, open[i].x)
	}
	g.x.set(buf)
	buf = buf[:0]
	for i := range open {
		buf = append(buf, open[i].y)
	}
	g.y.set(buf)
	w := len(g.y.steps) + 1
	size := w * (len(g.x.steps) + 1)
	g.best = slices.Grow(g.best[:0], size)[:size]
	for i := range g.best {
		g.best[i] = [2]int32{none, none}
	}
	for i := range open {
		x, _ := slices.BinarySearch(g.x.steps, open[i].x)
		y, _ := slices.BinarySearch(g.y.steps, open[i].y)
		at := &g.best[(x+1)*w+y+1]
		*at = firstTwo(*at, [2]int32{int32(i), none})
	}
	for at := w + 1; at < size; at++ {
		if at%w != 0 {
			g.best[at] = firstTwo(g.best[at], firstTwo(g.best[at-1], g.best[at-w]))
		}
	}
	return buf
}

// firstTwo returns the two smallest numbers of a and b, each once.
func firstTwo(a, b [2]int32) [2]int32 {
	switch {
	case a[0] < b[0]:
		return [2]int32{a[0], min(a[1], b[0])}
	case a[0] > b[0]:
		return [2]int32{b[0], min(a[0], b[1])}
	}
	return [2]int32{a[0], min(a[1], b[1])}
}

// within returns the two articles worth most that fit.
func (g *gaps) within(x, y int64) [2]int32 {
	return g.best[g.x.upTo(x)*(len(g.y.steps)+1)+g.y.upTo(y)]
}
