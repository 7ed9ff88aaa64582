package binpack_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/karpenter-go/karpenter/engine/binpack"
	"github.com/karpenter-go/karpenter/engine/binpack/typeset"
)

// all is the shape of problems with every side constraint.
var all = shape{dimensions: 3, items: 12, copies: 12, types: 6, catalogs: 2, labels: 2, groups: 3, limits: true, distinct: true}

func TestSolutionsAreFeasible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapidDice(t)
		p, o := d.problem(all), binpack.Options{Fast: d(0, 2) == 0, RelaxDistinct: d(0, 1) == 0}
		for _, no := range violations(p, o, binpack.Solve(p, o)) {
			t.Error(no)
		}
	})
}

func rapidDice(t *rapid.T) dice {
	return func(lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, "n") }
}

// free is the shape of problems in which every copy is packed.
var free = shape{dimensions: 2, items: 8, copies: 6, types: 5, catalogs: 1, labels: 1}

func TestWithoutLimitsAllIsPacked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := free
		s.groups, s.catalogs = 2, 2
		p := rapidDice(t).problem(s)
		for i, n := range binpack.Solve(p, binpack.Options{}).Left {
			if n > 0 {
				t.Errorf("item %s: %d copies left out", p.Items[i].Name, n)
			}
		}
	})
}

// The largest gaps to the optimum for problems with a few copies. With few bins, a single superfluous one costs much.
// The cost is at most worstGap times the optimum, in 99 of 100 problems at most rareGap, in the mean at most meanGap.
const (
	worstGap = 2.0
	rareGap  = 1.35
	meanGap  = 1.015
)

func TestAgainstBruteForce(t *testing.T) {
	var gaps []float64
	sum := 0.0
	for seed := range uint64(1000) {
		p := seeded(seed).problem(shape{dimensions: 2, items: 4, copies: 2, types: 4, catalogs: 1, labels: 1, groups: 1})
		p.Fee = 0
		best := optimum(p)
		if best == 0 || slices.ContainsFunc(p.Items, func(it binpack.Item) bool { return len(it.Bounds) > 0 && it.Bounds[0].Soft }) {
			continue // optimum ignores soft bounds
		}
		got := binpack.Solve(p, binpack.Options{})
		for _, no := range violations(p, binpack.Options{}, got) {
			t.Errorf("seed %d: %s", seed, no)
		}
		if binpack.LowerBound(p, copies(p)) > best*(1+1e-6) || got.Cost < best*(1-1e-6) {
			t.Errorf("seed %d: cost %g, optimum %g, lower bound %g", seed, got.Cost, best, binpack.LowerBound(p, copies(p)))
		}
		gaps = append(gaps, got.Cost/best)
		sum += got.Cost / best
	}
	slices.Sort(gaps)
	n := len(gaps)
	if worst, rare, mean := gaps[n-1], gaps[n*99/100], sum/float64(n); worst > worstGap || rare > rareGap || mean > meanGap {
		t.Errorf("cost by optimum of %d problems: worst %.3f, one in a hundred %.3f, mean %.4f", n, worst, rare, mean)
	}
}

func copies(p *binpack.Problem) []int {
	out := make([]int, len(p.Items))
	for i := range p.Items {
		out[i] = p.Items[i].Copies
	}
	return out
}

// optimum returns the least cost of bins for all copies, by trying every partition.
func optimum(p *binpack.Problem) float64 {
	c := &p.Catalogs[0]
	offers := c.Offers.(*labelOffers)
	var each []load
	for i := range p.Items {
		it := &p.Items[i]
		for range it.Copies {
			each = append(each, load{it, offers.sets[it.Uses[0].Offers], 1})
		}
	}
	cost := make([]float64, 1<<len(each)) // cost of one bin, by the set of copies in it
	best := make([]float64, 1<<len(each)) // least cost of any number of bins
	for set := 1; set < len(cost); set++ {
		cost[set], best[set] = math.Inf(1), math.Inf(1)
		var loads []load
		for i := range each {
			if set>>i&1 != 0 {
				loads = append(loads, each[i])
			}
		}
		for j := range c.Types {
			if v := price(p, &c.Types[j], offers.byType[j], loads); v > 0 {
				cost[set] = min(cost[set], v)
			}
		}
		for part := set; part > 0; part = (part - 1) & set {
			if part&(set&-set) != 0 {
				best[set] = min(best[set], cost[part]+best[set^part])
			}
		}
	}
	return best[len(best)-1]
}

func TestScalingPricesChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapidDice(t).problem(free)
		p.Fee = 10 // in dollars: with such a fee no solution is cheap enough for smallFee, which does not scale with prices
		before := binpack.Solve(p, binpack.Options{})
		for i := range p.Catalogs {
			for _, list := range p.Catalogs[i].Offers.(*labelOffers).byType {
				for j := range list {
					list[j].price *= 4
				}
			}
		}
		p.Fee *= 4
		after := binpack.Solve(p, binpack.Options{})
		if math.Abs(after.Cost-4*before.Cost) > 1e-6 || !slices.EqualFunc(before.Bins, after.Bins, sameBin) {
			t.Errorf("cost %g, and %g at four times the prices", before.Cost, after.Cost)
		}
	})
}

func sameBin(a, b *binpack.Bin) bool {
	return a.Catalog == b.Catalog && a.Type == b.Type && slices.Equal(a.Parts, b.Parts)
}

func TestOrderOfItemsChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapidDice(t).problem(all)
		before := binpack.Solve(p, binpack.Options{})
		order := rapid.Permutation(indices(len(p.Items))).Draw(t, "order")
		shuffled := *p
		shuffled.Items = nil
		for _, i := range order {
			shuffled.Items = append(shuffled.Items, p.Items[i])
		}
		after := binpack.Solve(&shuffled, binpack.Options{})
		for _, b := range after.Bins {
			for i := range b.Parts {
				if b.Parts[i].Item >= 0 { // identical bins share their parts
					b.Parts[i].Item = -1 - order[b.Parts[i].Item]
				}
			}
		}
		for _, b := range after.Bins {
			for i := range b.Parts {
				if b.Parts[i].Item < 0 {
					b.Parts[i].Item = -1 - b.Parts[i].Item
				}
			}
		}
		if before.Cost != after.Cost || !slices.EqualFunc(before.Bins, after.Bins, sameBin) {
			t.Errorf("cost %g, and %g in another order", before.Cost, after.Cost)
		}
	})
}

func indices(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func TestDominatedTypeChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapidDice(t)
		s := free
		s.labels = 0
		p := d.problem(s)
		before := binpack.Solve(p, binpack.Options{})
		c := &p.Catalogs[0]
		like := d(0, len(c.Types)-1)
		worse := c.Types[like]
		worse.Name = "z"
		worse.Capacity = slices.Clone(worse.Capacity)
		worse.Capacity[0]--
		dearer := 2.0
		for _, o := range c.Offers.(*labelOffers).byType[like] {
			dearer = max(dearer, 2*o.price)
		}
		addType(p, worse, []offer{{price: dearer}})
		after := binpack.Solve(p, binpack.Options{})
		if before.Cost != after.Cost || !slices.EqualFunc(before.Bins, after.Bins, sameBin) {
			t.Errorf("cost %g, and %g with a type that is dominated", before.Cost, after.Cost)
		}
	})
}

// addType adds a type at the end of the first catalog.
func addType(p *binpack.Problem, t binpack.BinType, offers []offer) {
	c := &p.Catalogs[0]
	l := c.Offers.(*labelOffers)
	c.Types, l.byType = append(c.Types, t), append(l.byType, offers)
	for i := range p.Items {
		it := &p.Items[i]
		if it.Uses[0].Offers != binpack.NoOffers {
			it.Uses[0] = use(p, c, it, l.sets[it.Uses[0].Offers])
		}
	}
}

func TestCheaperTypeIsNoLoss(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapidDice(t)
		p := d.problem(free)
		before := binpack.Solve(p, binpack.Options{})
		c := &p.Catalogs[0]
		like := d(0, len(c.Types)-1)
		cheaper := c.Types[like]
		cheaper.Name = "z"
		offers := slices.Clone(c.Offers.(*labelOffers).byType[like])
		for i := range offers {
			offers[i].price *= float64(d(50, 100)) / 100
		}
		addType(p, cheaper, offers)
		after := binpack.Solve(p, binpack.Options{})
		if after.Cost > before.Cost*worstGap {
			t.Errorf("cost %g, and %g with a cheaper type", before.Cost, after.Cost)
		}
	})
}

func FuzzSolve(f *testing.F) {
	f.Add([]byte("a problem of some size, with types, labels and limits"))
	f.Add([]byte{7, 1, 255, 0, 3, 9, 12, 200, 31, 5, 66, 2, 91, 17})
	f.Fuzz(func(t *testing.T, data []byte) {
		at := 0
		d := dice(func(lo, hi int) int {
			if len(data) == 0 {
				return lo
			}
			v := int(data[at%len(data)]) + at/len(data)
			at++
			return lo + v%(hi-lo+1)
		})
		p := d.problem(all)
		if d(0, 3) == 0 { // very large amounts
			for i := range p.Items {
				p.Items[i].Demand[0] <<= d(0, 50)
			}
			for i := range p.Catalogs {
				for j := range p.Catalogs[i].Types {
					p.Catalogs[i].Types[j].Capacity[0] <<= 52
				}
			}
		}
		o := binpack.Options{Fast: d(0, 1) == 0}
		for _, no := range violations(p, o, binpack.Solve(p, o)) {
			t.Error(no)
		}
	})
}

// A bin type that alone holds an item stays, also if another type is cheaper and as large, and holds as many items. Items
// with the same offers may use different types, for example because of the host ports of DaemonSet pods.
func TestTypeThatAloneHoldsAnItem(t *testing.T) {
	offers := &labelOffers{byType: [][]offer{{{price: 1}}, {{price: 2}}}}
	item := func(name string, typ int) binpack.Item {
		u := binpack.Use{Offers: offers.with(0), Types: typeset.New(2)}
		u.Types.Add(typ)
		return binpack.Item{Name: name, Demand: []int64{1}, Copies: 3, Uses: []binpack.Use{u}}
	}
	p := &binpack.Problem{
		Dimensions: 1,
		Catalogs: []binpack.Catalog{{Offers: offers, Types: []binpack.BinType{
			{Name: "cheap", Capacity: []int64{8}, Supply: -1}, {Name: "dear", Capacity: []int64{8}, Supply: -1},
		}}},
		Items: []binpack.Item{item("a", 0), item("b", 1)},
	}
	s := binpack.Solve(p, binpack.Options{})
	if !slices.Equal(s.Left, []int{0, 0}) || len(s.Bins) != 2 || s.Cost != 3 {
		t.Errorf("%d bins for %v, left %v, want one bin of each type and nothing left", len(s.Bins), s.Cost, s.Left)
	}
}
