package binpack_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-go/karpenter/engine/binpack"
)

// The labels of an offer are bits. One of the lowest three bits is its zone. The bit spot is set for spot capacity.
const (
	zones = 3
	spot  = 1 << zones
)

// cloud returns a catalog like that of a cloud: types in families of rising size, in three zones, on demand and spot.
// Prices are proportional to size, with random noise per family, and for spot also per offer.
func cloud(types int) binpack.Catalog {
	r := rand.New(rand.NewPCG(11, 2))
	offers := &labelOffers{}
	c := binpack.Catalog{Offers: offers}
	cpu := []int64{2, 4, 8, 16, 32, 48, 64, 96}
	for i := range types {
		family := i / len(cpu)
		n := cpu[i%len(cpu)]
		memory := n * []int64{2, 4, 8}[family%3]
		noise := 0.85 + 0.3*math.Abs(math.Sin(float64(family*7)))
		price := (float64(n)*0.035 + float64(memory)*0.0045) * noise
		t := binpack.BinType{
			Name: fmt.Sprintf("f%02d.%02d", family, n), Supply: -1, Capacity: []int64{n*1000 - 80, memory<<10 - 600, min(29+n*4, 234)},
		}
		var list []offer
		for z := range zones {
			list = append(list, offer{price, 1 << z}, offer{price * (0.25 + r.Float64()*0.4), 1<<z | spot})
		}
		c.Types, offers.byType = append(c.Types, t), append(offers.byType, list)
	}
	order := indices(types)
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(c.Types[a].Name, c.Types[b].Name) })
	sorted, byType := c, [][]offer(nil)
	sorted.Types = nil
	for _, i := range order {
		sorted.Types, byType = append(sorted.Types, c.Types[i]), append(byType, offers.byType[i])
	}
	offers.byType = byType
	return sorted
}

// workload returns items for the cloud. A third require a zone, a quarter require spot. A fifth have anti-affinity: at
// most one copy in a bin.
func workload(items, copies, types int) *binpack.Problem {
	r := rand.New(rand.NewPCG(5, 3))
	p := &binpack.Problem{Dimensions: 3, Units: []float64{1000, 1 << 10, 10}, Catalogs: []binpack.Catalog{cloud(types)}}
	for i := range items {
		it := binpack.Item{
			Name: fmt.Sprintf("i%05d", i), Copies: max(1, copies/items),
			Demand: []int64{100 + int64(math.Exp(r.Float64()*4)*50), 128 + int64(math.Exp(r.Float64()*4.5)*100), 1},
		}
		labels := uint(0)
		if r.IntN(3) == 0 {
			labels |= 1 << r.IntN(zones)
		}
		if r.IntN(4) == 0 {
			labels |= spot
		}
		if r.IntN(5) == 0 {
			it.Counts, it.Bounds = []binpack.Count{{Group: p.Groups, N: 1}}, []binpack.Bound{{Group: p.Groups, Max: 1}}
			p.Groups++
		}
		it.Uses = []binpack.Use{use(p, &p.Catalogs[0], &it, labels)}
		p.Items = append(p.Items, it)
	}
	return p
}

func BenchmarkSolve(b *testing.B) {
	for _, x := range []struct{ items, copies, types int }{{20, 1000, 400}, {100, 5000, 400}, {1000, 5000, 400}, {5000, 5000, 400}} {
		b.Run(fmt.Sprintf("items %d, copies %d, types %d", x.items, x.copies, x.types), func(b *testing.B) {
			p := workload(x.items, x.copies, x.types)
			var s *binpack.Solution
			for b.Loop() {
				s = binpack.Solve(p, binpack.Options{})
			}
			b.ReportMetric(s.Cost/binpack.LowerBound(p, copies(p)), "cost/bound")
		})
	}
}
