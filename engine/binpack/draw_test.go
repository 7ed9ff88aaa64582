package binpack_test

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/karpenter-go/karpenter/engine/binpack"
	"github.com/karpenter-go/karpenter/engine/binpack/typeset"
)

// A dice returns a number from lo to hi, both included.
type dice func(lo, hi int) int

func seeded(seed uint64) dice {
	r := rand.New(rand.NewPCG(seed, 1))
	return func(lo, hi int) int { return lo + r.IntN(hi-lo+1) }
}

// A shape limits a random problem: the largest number of each kind of element, and whether it may have limits.
type shape struct {
	dimensions, items, copies, types, catalogs int
	labels, groups                             int
	limits, distinct                           bool
}

// problem draws a random problem in which some empty bin holds a copy of each item.
func (d dice) problem(s shape) *binpack.Problem {
	p := &binpack.Problem{Dimensions: s.dimensions, Groups: s.groups, Fee: float64(d(0, 2)) / 50}
	if s.limits {
		p.Supplies = []int{d(0, 3)}
	}
	for i := range d(1, s.catalogs) {
		p.Catalogs = append(p.Catalogs, d.catalog(s, i))
	}
	for i := range d(1, s.items) {
		if it, ok := d.item(s, p, i); ok {
			p.Items = append(p.Items, it)
		}
	}
	return p
}

func (d dice) catalog(s shape, number int) binpack.Catalog {
	offers := &labelOffers{}
	c := binpack.Catalog{Offers: offers}
	n := d(1, s.types)
	if s.limits && d(0, 1) == 0 {
		c.Budget = []int64{int64(d(0, 200)), int64(d(0, 10))}
	}
	for j := range n {
		t := binpack.BinType{Name: fmt.Sprintf("c%d-t%02d", number, j), Supply: -1}
		size, sum := d(4, 16), 0
		for range s.dimensions {
			v := size * d(2, 6)
			sum += v
			t.Capacity = append(t.Capacity, int64(v))
		}
		if s.limits {
			t.Charge = []int64{t.Capacity[0], 1}
			t.Supply = -d(0, 1)
		}
		c.Types = append(c.Types, t)
		var list []offer
		for range d(1, 2) {
			list = append(list, offer{price: float64(sum*d(70, 130)) / 10000, labels: uint(d(0, 1<<s.labels-1))})
		}
		list = append(list, offer{price: float64(sum*d(70, 130)) / 10000, labels: 1<<s.labels - 1})
		offers.byType = append(offers.byType, list)
	}
	if s.distinct && d(0, 1) == 0 {
		x := binpack.Distinct{Min: d(1, 2)}
		for range n {
			x.Values = append(x.Values, []int32{int32(d(0, 2))})
		}
		offers.distinct = []binpack.Distinct{x}
	}
	return c
}

// item draws a random item. It returns false if no bin holds a copy.
func (d dice) item(s shape, p *binpack.Problem, number int) (binpack.Item, bool) {
	it := binpack.Item{Name: fmt.Sprintf("i%03d", number), Copies: d(1, s.copies), Priority: int32(d(0, 1))}
	for range s.dimensions {
		it.Demand = append(it.Demand, int64(d(0, 30)))
	}
	if s.groups > 0 {
		g := d(0, s.groups-1)
		switch d(0, 4) {
		case 0:
			it.Counts, it.Bounds = []binpack.Count{{Group: g, N: 1}}, []binpack.Bound{{Group: g, Max: d(1, 3)}}
		case 1:
			it.Counts = []binpack.Count{{Group: g, N: d(1, 2)}}
		case 2:
			it.Bounds = []binpack.Bound{{Group: g, Max: d(0, 1), Soft: d(0, 4) == 0}}
		}
	}
	labels := uint(0)
	if s.labels > 0 {
		first, second := uint(d(0, 1<<s.labels-1)), uint(d(0, 1<<s.labels-1))
		labels = first & second // each label with probability 1/4
	}
	found := false
	for i := range p.Catalogs {
		u := use(p, &p.Catalogs[i], &it, labels)
		found = found || u.Offers != binpack.NoOffers
		it.Uses = append(it.Uses, u)
	}
	return it, found
}

// use returns what the item may use in the catalog: the offers with these labels, and the types that hold a copy.
func use(p *binpack.Problem, c *binpack.Catalog, it *binpack.Item, labels uint) binpack.Use {
	offers := c.Offers.(*labelOffers)
	u := binpack.Use{Offers: offers.with(labels), Types: typeset.New(len(c.Types))}
	for j := range c.Types {
		hard := *it // alone, a copy meets its soft bounds as well
		hard.Bounds = slices.Clone(it.Bounds)
		for i := range hard.Bounds {
			hard.Bounds[i].Soft = false
		}
		if price(p, &c.Types[j], offers.byType[j], []load{{&hard, labels, 1}}) > 0 {
			u.Types.Add(j)
		}
	}
	if !u.Types.Any() {
		u.Offers = binpack.NoOffers
	}
	return u
}

// A load is copies of an item in a bin. They require an offer with the labels.
type load struct {
	item   *binpack.Item
	labels uint
	n      int
}

// price returns the price of a bin of the type with these loads, without the fee. It returns 0 if the bin does not hold
// them. Tests compare the solver's bins with it, so it shares no code with the solver. It ignores soft bounds.
func price(p *binpack.Problem, t *binpack.BinType, offers []offer, loads []load) float64 {
	free, counts, labels := slices.Clone(t.Capacity), make([]int, p.Groups), uint(0)
	for _, l := range loads {
		labels |= l.labels
		for d, v := range l.item.Demand {
			free[d] -= v * int64(l.n)
		}
		for _, c := range l.item.Counts {
			counts[c.Group] += c.N * l.n
		}
	}
	for d, v := range free {
		if v < 0 && v < min(t.Capacity[d], 0) || v < 0 && t.Capacity[d] >= 0 {
			return 0
		}
	}
	for _, l := range loads {
		for _, b := range l.item.Bounds {
			if !b.Soft && counts[b.Group] > b.Max {
				return 0
			}
		}
	}
	best := 0.0
	for _, o := range offers {
		if o.labels&labels == labels && (best == 0 || o.price < best) {
			best = o.price
		}
	}
	return best
}
