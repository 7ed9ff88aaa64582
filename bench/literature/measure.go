package literature

import (
	"fmt"
	"math"
	"time"

	"github.com/karpenter-go/karpenter/engine/binpack"
	"github.com/karpenter-go/karpenter/engine/binpack/typeset"
)

// A Row is the result of some instances of a class. Bins are summed over all instances.
type Row struct {
	Class                                        string
	Instances, Items, Bound, Ours, FirstFit, Dot int
	Time                                         time.Duration // time of the engine
}

// Measure packs instances of n items of the class.
func Measure(c *Class, n, instances int) (Row, error) {
	row := Row{Class: c.Name, Instances: instances, Items: n}
	for seed := range uint64(instances) {
		items := c.Draw(n, seed+1)
		p := problem(items, c.Capacity)
		began := time.Now()
		s := binpack.Solve(p, binpack.Options{})
		row.Time += time.Since(began)
		if err := check(items, c.Capacity, s); err != nil {
			return row, fmt.Errorf("%s, seed %d: %w", c.Name, seed+1, err)
		}
		copies := make([]int, len(items))
		for i := range copies {
			copies[i] = 1
		}
		row.Bound += int(math.Ceil(binpack.LowerBound(p, copies) - 1e-6))
		row.Ours += len(s.Bins)
		row.FirstFit += FirstFitDecreasing(items, c.Capacity)
		row.Dot += DotProduct(items, c.Capacity)
	}
	return row, nil
}

// Gap returns the fraction by which bins exceed the bound.
func (r *Row) Gap(bins int) float64 { return float64(bins)/float64(r.Bound) - 1 }

// onePrice is a catalogue with one type at a price of 1.
type onePrice struct{}

func (onePrice) Meet(a, _ binpack.OfferSet) (binpack.OfferSet, bool) { return a, true }
func (onePrice) Prices(binpack.OfferSet) []float64                   { return []float64{1} }
func (onePrice) Distinct(binpack.OfferSet) []binpack.Distinct        { return nil }

func problem(items [][]int64, capacity []int64) *binpack.Problem {
	p := &binpack.Problem{Dimensions: len(capacity), Catalogs: []binpack.Catalog{{
		Types: []binpack.BinType{{Name: "bin", Capacity: capacity, Supply: -1}}, Offers: onePrice{},
	}}}
	for _, c := range capacity {
		p.Units = append(p.Units, float64(c))
	}
	types := typeset.New(1)
	types.Add(0)
	for i, demand := range items {
		p.Items = append(p.Items, binpack.Item{
			Name: fmt.Sprintf("%05d", i), Demand: demand, Copies: 1, Uses: []binpack.Use{{Types: types}},
		})
	}
	return p
}

// check returns an error unless every item is in exactly one bin and every bin has enough capacity.
func check(items [][]int64, capacity []int64, s *binpack.Solution) error {
	seen := make([]int, len(items))
	for i, b := range s.Bins {
		free := append([]int64(nil), capacity...)
		for _, x := range b.Parts {
			if !fits(items[x.Item], free) {
				return fmt.Errorf("bin %d does not hold its items", i)
			}
			put(items[x.Item], free)
			seen[x.Item] += x.Copies
		}
	}
	for i, n := range seen {
		if n != 1 {
			return fmt.Errorf("item %d is packed %d times", i, n)
		}
	}
	return nil
}
