package lp

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/karpenter-go/karpenter/engine/binpack/vector"
)

// A Covering is the linear relaxation of bin packing with groups of items. Fractional numbers of bins cover the needs
// of all groups at least cost. The needs of a group are the total demand of its items. Each group has its own dual
// prices: they are higher for a group that can use only expensive bins.
//
//	minimise    sum over b of price[b]*x[b]
//	subject to  the capacity of all x[b] bins covers the needs of all groups, in each dimension,
//	            a bin's capacity is divided among the groups that it admits, and x >= 0
//	            sum over b of draw[b][s]*x[b] <= supply[s]   for each supply s
//
// In the dual program, y[g][r] is the dual price of a unit of dimension r for group g, and z[s] that of supply s. The value
// of all needs, less that of the supplies, is maximised. However a bin's capacity is divided among its groups, it must not
// hold more value than its price and what it draws:
//
//	maximise    sum over g, r of need[g][r]*y[g][r] - sum over s of supply[s]*z[s]
//	subject to  sum over r of capacity[b][r] * max over groups g of b of y[g][r] <= price[b] + sum over s of draw[b][s]*z[s]
//	            for each bin b, and y, z >= 0
//
// Without maxima, the constraint of a bin is one linear row for each choice of a group per dimension: too many rows.
// Such a row is called a cut. Solve adds violated cuts until no cut is violated, at most maxRounds times (Kelley 1960). It
// keeps the cuts for the next solve (but see maxCuts), and with several groups the basis (but see exactPivots).
type Covering struct {
	dimensions, groups int
	bins               []CoverBin
	sets               []GroupSet // the distinct values of CoverBin.Groups
	setOf              []int      // setOf[i] is the index in sets of the groups of bin i
	cuts               []cut      // cuts[i] is row i of program
	program            *Program
	ceilings           [][]float64 // ceilings[s][r] is the highest price in dimension r of any group in set s
	flat               []float64   // the prices of all groups, one group after another; then those of the supplies
	// Supplies[s] is how much is left of supply s. Its length must not change after the first call of SetBins. If there are
	// supplies, the cost that Solve returns is not a bound.
	Supplies []float64
}

// A CoverBin is a bin type at one price, with the groups of items that may use it at that price.
type CoverBin struct {
	// Key identifies the bin type in all calls of SetBins. Bins with equal keys must have equal capacities.
	Key      int
	Capacity []float64
	Price    float64
	Groups   GroupSet
	Draw     float64 // what a bin draws from Supplies[Supply]; 0 if no supply limits the bins
	Supply   int
}

// A GroupSet is a set of groups of items. Bit g is set if group g is in the set.
type GroupSet uint64

// Has reports whether g is in the set.
func (s GroupSet) Has(g int) bool { return s>>g&1 != 0 }

// A cut is a row of the dual program. It belongs to one bin type and chooses group[r] for each dimension r. It states
// that the sum over r of capacity[r] times the price of group[r] in dimension r is at most the bin's price.
type cut struct {
	bin    CoverBin // a bin of the type
	group  []int
	groups GroupSet // the groups in group, as a set
}

const (
	// maxRounds is the largest number of rounds of adding cuts in one solve. A round adds at most cutsPerRound cuts.
	maxRounds    = 24
	cutsPerRound = 16
	// tolerance is the smallest relative violation for which a cut is added. For smaller ones, Solve scales all prices
	// down at the end, so that no cut is violated.
	tolerance = 1e-5
	// perturbation is the largest relative increase of the price in a cut, if there are several groups. Each cut gets a
	// different increase, because bin types of one family have equal ratios of capacity to price. Such ties cause degenerate
	// simplex pivots. The scaling of the prices at the end of Solve corrects the increase.
	perturbation = 1e-6
	// If there are more than maxCuts cuts per variable, prepare removes all cuts except those of boundPrice.
	maxCuts = 8
	// After more than exactPivots pivots the next solve restarts from y = 0, because rounding errors accumulate. With a
	// single group each solve restarts, because that costs little.
	exactPivots = 3000
)

// NewCovering returns a relaxation without bins.
func NewCovering(dimensions, groups int) *Covering {
	return &Covering{dimensions: dimensions, groups: groups}
}

// SetBins replaces the bins, which must be in rising order of Key. It keeps a cut if some bin has its key and admits its
// groups. The Covering keeps a reference to the slice.
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
	c.reset()
	for _, x := range old {
		if x.bin.Price = c.cheapest(&x); x.bin.Price < infinite {
			c.add(x)
		}
	}
}

// reset makes a new program. Its only cuts are those that boundPrice adds for the current bins.
func (c *Covering) reset() {
	c.cuts, c.program = nil, NewProgram(make([]float64, c.groups*c.dimensions+len(c.Supplies)))
	for g := range c.groups {
		for r := range c.dimensions {
			c.boundPrice(g, r)
		}
	}
}

// boundPrice adds a cut that limits y[g][r], the dual price of dimension r for group g. Without it the dual program could be
// unbounded. The cut is that of the bin with the most capacity in dimension r per dollar, with group g in each dimension:
// the value of the bin's capacity, at the prices of g, is at most the bin's price. If no bin with capacity in r admits g,
// boundPrice adds nothing. It considers only bins that draw from no supply.
func (c *Covering) boundPrice(g, r int) {
	best, most := -1, 0.0
	for i := range c.bins {
		b := &c.bins[i]
		if !b.Groups.Has(g) || b.Draw > 0 {
			continue
		}
		if v := b.Capacity[r] / b.Price; v > most {
			best, most = i, v
		}
	}
	if best < 0 {
		return
	}
	c.add(cut{bin: c.bins[best], group: slices.Repeat([]int{g}, c.dimensions), groups: 1 << g})
}

// add adds the cut as a row of the program, unless the program already contains it. With several groups it increases the
// price slightly, see perturbation.
func (c *Covering) add(x cut) {
	if slices.ContainsFunc(c.cuts, func(o cut) bool { return o.bin.Key == x.bin.Key && slices.Equal(o.group, x.group) }) {
		return
	}
	row, price := make([]float64, c.groups*c.dimensions+len(c.Supplies)), x.bin.Price
	for r, v := range x.bin.Capacity {
		row[x.group[r]*c.dimensions+r] = v
	}
	if x.bin.Draw > 0 {
		row[c.groups*c.dimensions+x.bin.Supply] = -x.bin.Draw
	}
	c.cuts = append(c.cuts, x)
	if c.groups > 1 {
		h := uint64(len(c.cuts)) * 0x9e3779b97f4a7c15
		price *= 1 + perturbation*float64(h>>40)/(1<<24)
	}
	c.program.AddRow(row, price)
}

// cheapest returns the lowest price of a bin of the cut's type that admits all groups of the cut, infinite if there is none.
func (c *Covering) cheapest(x *cut) float64 {
	price := infinite
	i, _ := slices.BinarySearchFunc(c.bins, x.bin.Key, func(b CoverBin, key int) int { return b.Key - key })
	for ; i < len(c.bins) && c.bins[i].Key == x.bin.Key; i++ {
		if x.groups&^c.bins[i].Groups == 0 {
			price = min(price, c.bins[i].Price)
		}
	}
	return price
}

// Solve returns the dual prices and a lower bound on the cost of bins that cover the needs. needs[g][r] is the need of
// group g in dimension r; prices are indexed in the same way. A group with a need must have a bin that admits it.
func (c *Covering) Solve(needs [][]float64) (prices [][]float64, cost float64) {
	if c.groups == 1 {
		c.program.Reset()
	}
	return c.SolveAgain(needs)
}

// SolveAgain is Solve for needs that differ little from those of the last solve. It starts from the last basis, even with a
// single group.
func (c *Covering) SolveAgain(needs [][]float64) (prices [][]float64, cost float64) {
	c.prepare(needs)
	c.flat = make([]float64, c.groups*c.dimensions+len(c.Supplies))
	prices = make([][]float64, c.groups)
	for g := range prices {
		prices[g] = c.flat[g*c.dimensions : (g+1)*c.dimensions]
	}
	maxRatio := 1.0
	for range maxRounds {
		c.program.Solve()
		c.program.Solution(c.flat)
		for i, need := range c.program.objective[:c.groups*c.dimensions] {
			if need == 0 {
				c.flat[i] = 0 // a lower price of a dimension violates no cut
			}
		}
		var violated bool
		if maxRatio, violated = c.separate(prices); !violated {
			break
		}
	}
	if maxRatio != 1 {
		for i := range c.flat {
			c.flat[i] /= maxRatio
		}
	}
	for g, need := range needs {
		cost += vector.Dot(prices[g], need)
	}
	return prices, cost
}

// prepare sets the objective to the needs and supplies. If there are too many cuts (maxCuts), it removes all except those of
// boundPrice. It restarts the program from y = 0 after exactPivots pivots.
func (c *Covering) prepare(needs [][]float64) {
	objective := make([]float64, 0, c.groups*c.dimensions+len(c.Supplies))
	for _, need := range needs {
		objective = append(objective, need...)
	}
	for _, v := range c.Supplies {
		objective = append(objective, -v)
	}
	if len(c.cuts) > maxCuts*len(objective) {
		c.reset()
	}
	if c.program.pivots > exactPivots {
		c.program.Reset()
	}
	c.program.SetObjective(objective)
}

// separate adds the most violated cuts at these prices, at most cutsPerRound. It returns the largest ratio of value to
// price over all bins that draw from no supply, at least 1, and whether a cut is violated by more than tolerance.
func (c *Covering) separate(prices [][]float64) (maxRatio float64, found bool) {
	type violation struct {
		bin int
		by  float64
	}
	for i, set := range c.sets {
		Ceiling(c.ceilings[i], set, prices)
	}
	var violated []violation
	maxRatio = 1
	for i := range c.bins {
		b := &c.bins[i]
		price := b.Price
		if b.Draw > 0 {
			price += b.Draw * c.flat[c.groups*c.dimensions+b.Supply]
		}
		v := vector.Dot(c.ceilings[c.setOf[i]], b.Capacity) / price
		if v > 1+tolerance {
			violated = append(violated, violation{i, v})
		}
		if b.Draw == 0 {
			maxRatio = max(maxRatio, v)
		}
	}
	slices.SortStableFunc(violated, func(a, b violation) int { return cmp.Compare(b.by, a.by) })
	for _, v := range violated[:min(len(violated), cutsPerRound)] {
		x := cut{bin: c.bins[v.bin], group: make([]int, c.dimensions)}
		for r := range x.group {
			x.group[r] = highestPriced(x.bin.Groups, prices, r)
			x.groups |= 1 << x.group[r]
		}
		c.add(x)
	}
	return maxRatio, len(violated) > 0
}

// Ceiling sets out[r] to the highest price in dimension r of any group in the set. prices[g][r] is that of group g.
func Ceiling(out []float64, set GroupSet, prices [][]float64) {
	clear(out)
	for ; set != 0; set &= set - 1 {
		for r, v := range prices[bits.TrailingZeros64(uint64(set))] {
			out[r] = max(out[r], v)
		}
	}
}

// highestPriced returns the group of the set with the highest price in dimension r. Of groups with equal prices it
// returns the lowest.
func highestPriced(set GroupSet, prices [][]float64, r int) int {
	best := bits.TrailingZeros64(uint64(set))
	for set &= set - 1; set != 0; set &= set - 1 {
		if g := bits.TrailingZeros64(uint64(set)); prices[g][r] > prices[best][r] {
			best = g
		}
	}
	return best
}
