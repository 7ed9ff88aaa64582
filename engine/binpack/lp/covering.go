package lp

import (
	"cmp"
	"math/bits"
	"slices"
)

// A Covering is the linear relaxation of covering what groups of items need with bins, fractional numbers of them, at least
// cost. Each group has prices of its own: what only dear bins can hold is worth more.
//
//	minimise    sum over b of price[b]*x[b]
//	subject to  the capacity of all x[b] bins covers the needs of all groups, in each dimension,
//	            where capacity of b may be given to any group that b admits, and x >= 0
//
// Its dual maximises the value of all needs, with y[g][r] the price of a unit of dimension r for group g, such that no bin
// holds more value than it costs, whichever groups share it:
//
//	maximise    sum over g, r of need[g][r]*y[g][r]
//	subject to  sum over r of capacity[b][r] * max over groups g of b of y[g][r] <= price[b]   for each bin b
//	            y >= 0
//
// The maxima make too many rows to write down. A row that chooses a group for each dimension is a cut; cuts that are violated
// are added until none is left (Kelley 1960). Cuts are kept from solve to solve, and so is the basis.
type Covering struct {
	dimensions, groups int
	bins               []CoverBin
	sets               []GroupSet // the distinct sets of groups of bins
	setOf              []int      // by bin, the index of its set
	cuts               []cut      // those that the program has, row by row
	program            *Program
	ceilings           [][]float64 // by set and dimension: the highest price of any group
	flat               []float64
}

// A CoverBin is a bin type at one price, with the groups that it admits at that price.
type CoverBin struct {
	// Key identifies the bin type: bins of one key have the same capacity, whenever they are set.
	Key      int
	Capacity []float64
	Price    float64
	Groups   GroupSet
}

// A GroupSet has bit g set for each group g in it.
type GroupSet uint64

// Has reports whether g is in the set.
func (s GroupSet) Has(g int) bool { return s>>g&1 != 0 }

// A cut is a row of the dual: a bin type, and the group that each dimension is valued for.
type cut struct {
	key      int
	capacity []float64
	group    []int
	groups   GroupSet // those in group
}

const (
	// maxRounds bounds how often cuts are added in one solve, cutsPerRound how many at once.
	maxRounds    = 24
	cutsPerRound = 16
	// tolerance is by how much a row may be violated before it is added. The result is scaled to make up for it.
	tolerance = 1e-5
	// perturbation is by how much prices are raised at most, each by another part of it. Types of one family have the same ratios of
	// capacity to price, and among so many ties the simplex method takes thousands of pivots that gain nothing. The result is
	// scaled to make up for that, too.
	perturbation = 1e-6
	// maxCuts is how many cuts for each variable are kept; those that do not bind are dropped when there are more.
	maxCuts = 8
	// exactPivots is after how many pivots the program is solved from y = 0, for rounding errors add up. With a single group
	// it always is: that costs next to nothing there.
	exactPivots = 3000
)

// NewCovering returns the relaxation without any bins.
func NewCovering(dimensions, groups int) *Covering {
	return &Covering{dimensions: dimensions, groups: groups}
}

// SetBins replaces the bins. Cuts of bins that are still there are kept. It keeps the slice.
func (c *Covering) SetBins(bins []CoverBin) {
	c.bins = bins
	c.sets, c.setOf = c.sets[:0], c.setOf[:0]
	for i := range bins {
		at := slices.Index(c.sets, bins[i].Groups)
		if at < 0 {
			at = len(c.sets)
			c.sets = append(c.sets, bins[i].Groups)
		}
		c.setOf = append(c.setOf, at)
	}
	for len(c.ceilings) < len(c.sets) {
		c.ceilings = append(c.ceilings, make([]float64, c.dimensions))
	}
	old := c.cuts
	c.cuts, c.program = nil, NewProgram(make([]float64, c.groups*c.dimensions))
	for g := range c.groups {
		for r := range c.dimensions {
			c.limit(g, r)
		}
	}
	price := c.cheapest(old)
	for i := range old {
		if price[i] < infinite {
			c.add(old[i], price[i])
		}
	}
}

// limit adds the cut that keeps y[g][r] finite: that of the bin which has most of r for its price.
func (c *Covering) limit(g, r int) {
	best, most := -1, 0.0
	for i := range c.bins {
		b := &c.bins[i]
		if !b.Groups.Has(g) {
			continue
		}
		if v := b.Capacity[r] / b.Price; v > most {
			best, most = i, v
		}
	}
	if best < 0 {
		return
	}
	group := make([]int, c.dimensions)
	for i := range group {
		group[i] = g
	}
	b := &c.bins[best]
	c.add(cut{key: b.Key, capacity: b.Capacity, group: group, groups: 1 << g}, b.Price)
}

// add adds the row of a cut, unless the program has it.
func (c *Covering) add(x cut, price float64) {
	if slices.ContainsFunc(c.cuts, func(o cut) bool { return o.key == x.key && slices.Equal(o.group, x.group) }) {
		return
	}
	row := make([]float64, c.groups*c.dimensions)
	for r, v := range x.capacity {
		row[x.group[r]*c.dimensions+r] = v
	}
	c.cuts = append(c.cuts, x)
	if c.groups > 1 {
		h := uint64(len(c.cuts)) * 0x9e3779b97f4a7c15
		price *= 1 + perturbation*float64(h>>40)/(1<<24)
	}
	c.program.AddRow(row, price)
}

// cheapest returns for each cut the least price at which a bin of its key admits its groups, infinite for none.
func (c *Covering) cheapest(cuts []cut) []float64 {
	price := make([]float64, len(cuts))
	byKey := map[int][]int{}
	for i := range cuts {
		price[i] = infinite
		byKey[cuts[i].key] = append(byKey[cuts[i].key], i)
	}
	for i := range c.bins {
		b := &c.bins[i]
		for _, at := range byKey[b.Key] {
			if cuts[at].groups&^b.Groups == 0 {
				price[at] = min(price[at], b.Price)
			}
		}
	}
	return price
}

// Solve returns the price of a unit of each dimension for each group, and the cost below which no bins cover the needs, which
// come by group and dimension. There must be a bin for each group that needs something.
func (c *Covering) Solve(needs [][]float64) (prices [][]float64, cost float64) {
	c.prepare(needs)
	c.flat = make([]float64, c.groups*c.dimensions)
	prices = make([][]float64, c.groups)
	for g := range prices {
		prices[g] = c.flat[g*c.dimensions : (g+1)*c.dimensions]
	}
	most := 1.0
	for range maxRounds {
		c.program.Solve()
		c.program.Solution(c.flat)
		c.ignoreUnneeded(needs)
		var violated bool
		if most, violated = c.separate(prices); !violated {
			break
		}
	}
	if most != 1 {
		for i := range c.flat {
			c.flat[i] /= most
		}
	}
	for g, need := range needs {
		cost += dot(prices[g], need)
	}
	return prices, cost
}

// Steps returns how many rows all solves since SetBins changed.
func (c *Covering) Steps() int64 { return c.program.Steps }

// prepare sets the objective, and keeps the program small and exact.
func (c *Covering) prepare(needs [][]float64) {
	objective := make([]float64, 0, c.groups*c.dimensions)
	for _, need := range needs {
		objective = append(objective, need...)
	}
	if c.program.Rows() > maxCuts*len(objective) {
		c.dropSlack()
	}
	if c.program.Pivots > exactPivots || c.groups == 1 {
		c.program.Pivots = 0
		c.program.Reset()
	}
	c.program.SetObjective(objective)
}

// dropSlack removes the cuts that do not bind at the last solution, but for those that keep prices finite.
func (c *Covering) dropSlack() {
	first := min(c.groups*c.dimensions, len(c.cuts))
	kept := c.program.DropSlack(func(row int) bool { return row >= first })
	cuts := make([]cut, len(kept))
	for i, row := range kept {
		cuts[i] = c.cuts[row]
	}
	c.cuts = cuts
}

// ignoreUnneeded sets the prices to 0 that the objective does not contain. Lowering a price keeps all rows.
func (c *Covering) ignoreUnneeded(needs [][]float64) {
	for g, need := range needs {
		for r, v := range need {
			if v == 0 {
				c.flat[g*c.dimensions+r] = 0
			}
		}
	}
}

// separate adds the cuts that prices violate most. It returns false if there is none, and the most value that a bin holds for
// what it costs, at least 1.
func (c *Covering) separate(prices [][]float64) (most float64, found bool) {
	type violation struct {
		bin int
		by  float64
	}
	for i, set := range c.sets {
		Ceiling(c.ceilings[i], set, prices)
	}
	var violated []violation
	most = 1
	for i := range c.bins {
		b := &c.bins[i]
		v := dot(c.ceilings[c.setOf[i]], b.Capacity) / b.Price
		if v > 1+tolerance {
			violated = append(violated, violation{i, v})
		}
		most = max(most, v)
	}
	slices.SortStableFunc(violated, func(a, b violation) int { return cmp.Compare(b.by, a.by) })
	for _, v := range violated[:min(len(violated), cutsPerRound)] {
		b := &c.bins[v.bin]
		x := cut{key: b.Key, capacity: b.Capacity, group: make([]int, c.dimensions)}
		for r := range x.group {
			x.group[r] = dearest(b.Groups, prices, r)
			x.groups |= 1 << x.group[r]
		}
		c.add(x, b.Price)
	}
	return most, len(violated) > 0
}

// Ceiling writes the highest price of each dimension for any group of the set into out.
func Ceiling(out []float64, set GroupSet, prices [][]float64) {
	clear(out)
	for ; set != 0; set &= set - 1 {
		for r, v := range prices[bits.TrailingZeros64(uint64(set))] {
			out[r] = max(out[r], v)
		}
	}
}

// dearest returns the group of the set with the highest price of a dimension, the first of equals.
func dearest(set GroupSet, prices [][]float64, r int) int {
	best := bits.TrailingZeros64(uint64(set))
	for set &= set - 1; set != 0; set &= set - 1 {
		if g := bits.TrailingZeros64(uint64(set)); prices[g][r] > prices[best][r] {
			best = g
		}
	}
	return best
}
