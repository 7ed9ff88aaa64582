package lp_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/karpenter-go/karpenter/engine/binpack/lp"
)

const close = 1e-7

// Solve finds the known optima of programs from Chvátal, Linear Programming.
func TestKnownPrograms(t *testing.T) {
	for name, x := range map[string]struct {
		c      []float64
		rows   [][]float64
		bounds []float64
		value  float64
		y      []float64
	}{
		"chapter 2":  {[]float64{5, 4, 3}, [][]float64{{2, 3, 1}, {4, 1, 2}, {3, 4, 2}}, []float64{5, 11, 8}, 13, []float64{2, 0, 1}},
		"two":        {[]float64{3, 5}, [][]float64{{1, 0}, {0, 2}, {3, 2}}, []float64{4, 12, 18}, 36, []float64{2, 6}},
		"degenerate": {[]float64{2, 1}, [][]float64{{1, 1}, {1, 0}, {2, 1}}, []float64{1, 1, 2}, 2, []float64{1, 0}},
		"nothing":    {[]float64{0, 0}, [][]float64{{1, 1}}, []float64{1}, 0, []float64{0, 0}},
		"cycling":    {[]float64{10, -57, -9, -24}, [][]float64{{0.5, -5.5, -2.5, 9}, {0.5, -1.5, -0.5, 1}, {1, 0, 0, 0}}, []float64{0, 0, 1}, 1, []float64{1, 0, 1, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			p := lp.NewProgram(x.c)
			for i := range x.rows {
				p.AddRow(x.rows[i], x.bounds[i])
			}
			if !p.Solve() {
				t.Fatal("no optimum")
			}
			y := make([]float64, len(x.c))
			p.Solution(y)
			for j := range y {
				if math.Abs(y[j]-x.y[j]) > close {
					t.Errorf("solution %v, want %v", y, x.y)
				}
			}
			if math.Abs(p.Value()-x.value) > close {
				t.Errorf("value %g, want %g", p.Value(), x.value)
			}
		})
	}
}

func TestUnboundedProgram(t *testing.T) {
	p := lp.NewProgram([]float64{1, 1})
	p.AddRow([]float64{1, 0}, 1)
	if p.Solve() {
		t.Error("a variable without a row has no largest value")
	}
}

// drawProgram draws a random program in which every variable is bounded.
func drawProgram(t *rapid.T) (p *lp.Program, c []float64, rows [][]float64, bounds []float64) {
	n, m := rapid.IntRange(1, 6).Draw(t, "variables"), rapid.IntRange(1, 10).Draw(t, "rows")
	amount := rapid.IntRange(0, 9)
	vector := func(least int) []float64 {
		out := make([]float64, n)
		for j := range out {
			out[j] = float64(least + amount.Draw(t, "amount"))
		}
		return out
	}
	c = vector(0)
	p = lp.NewProgram(c)
	for i := range m {
		least := 0
		if i == 0 {
			least = 1
		}
		rows, bounds = append(rows, vector(least)), append(bounds, float64(amount.Draw(t, "bound")))
		p.AddRow(rows[i], bounds[i])
	}
	return p, c, rows, bounds
}

// judge checks that the solution and the duals are feasible and have the same value, which proves that both are
// optimal.
func judge(t *rapid.T, p *lp.Program, c []float64, rows [][]float64, bounds []float64) {
	y, x := make([]float64, len(c)), make([]float64, len(rows))
	p.Solution(y)
	p.Duals(x)
	value, dual := 0.0, 0.0
	for j := range c {
		value += c[j] * y[j]
		covered := 0.0
		for i := range rows {
			covered += rows[i][j] * x[i]
		}
		if covered < c[j]-close {
			t.Errorf("the duals pay %g for variable %d, want %g", covered, j, c[j])
		}
	}
	for i := range rows {
		used := 0.0
		for j := range c {
			used += rows[i][j] * y[j]
		}
		if used > bounds[i]+close {
			t.Errorf("row %d: %g of %g", i, used, bounds[i])
		}
		dual += bounds[i] * x[i]
	}
	if math.Abs(value-dual) > close*(1+math.Abs(value)) || math.Abs(value-p.Value()) > close*(1+math.Abs(value)) {
		t.Errorf("value %g, as reported %g, that of the duals %g", value, p.Value(), dual)
	}
}

func TestDuality(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, c, rows, bounds := drawProgram(t)
		if !p.Solve() {
			t.Fatal("no optimum")
		}
		judge(t, p, c, rows, bounds)
	})
}

// If rows of a solved program are added or removed, or its objective is replaced, the next Solve finds the new optimum.
func TestWarmStart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, c, rows, bounds := drawProgram(t)
		p.Solve()
		for range rapid.IntRange(1, 8).Draw(t, "changes") {
			row := make([]float64, len(c))
			for j := range row {
				row[j] = float64(rapid.IntRange(0, 9).Draw(t, "amount"))
			}
			if rapid.Bool().Draw(t, "objective") {
				c = row
				p.SetObjective(c)
			} else {
				rows, bounds = append(rows, row), append(bounds, float64(rapid.IntRange(0, 9).Draw(t, "bound")))
				p.AddRow(row, bounds[len(bounds)-1])
			}
			if rapid.Bool().Draw(t, "solve") {
				if !p.Solve() {
					t.Fatal("no optimum")
				}
				judge(t, p, c, rows, bounds)
			}
		}
		if !p.Solve() {
			t.Fatal("no optimum")
		}
		judge(t, p, c, rows, bounds)
	})
}

// drawCovering draws random bins and needs. Prices are proportional to capacity, with noise, as in a cloud's catalogue.
func drawCovering(seed uint64, types, dimensions, groups int) ([]lp.CoverBin, [][]float64) {
	r := rand.New(rand.NewPCG(seed, 7))
	var bins []lp.CoverBin
	for i := range types {
		capacity, price := make([]float64, dimensions), 0.0
		size := math.Exp2(r.Float64() * 7)
		for d := range capacity {
			capacity[d] = size * (0.3 + 2*r.Float64())
			price += capacity[d] * 0.02
		}
		for range 3 {
			bins = append(bins, lp.CoverBin{
				Key: i, Capacity: capacity, Price: price * (0.5 + r.Float64()/2), Groups: lp.GroupSet(1 + r.Uint64N(1<<groups-1)),
			})
		}
		bins = append(bins, lp.CoverBin{Key: i, Capacity: capacity, Price: price * 1.1, Groups: 1<<groups - 1})
	}
	needs := make([][]float64, groups)
	for g := range needs {
		for range dimensions {
			needs[g] = append(needs[g], r.Float64()*1000)
		}
	}
	return bins, needs
}

// holds checks that no bin holds more value than its price, and that cost is the value of the needs. By weak duality,
// cost is then a lower bound.
func holds(t *testing.T, bins []lp.CoverBin, needs, prices [][]float64, cost float64) {
	t.Helper()
	for _, b := range bins {
		top := make([]float64, len(b.Capacity))
		lp.Ceiling(top, b.Groups, prices)
		value := 0.0
		for d, v := range top {
			value += v * b.Capacity[d]
		}
		if value > b.Price*(1+1e-9) {
			t.Errorf("bin %d at %g holds %g", b.Key, b.Price, value)
		}
	}
	value := 0.0
	for g, need := range needs {
		for d, v := range need {
			value += v * prices[g][d]
		}
	}
	if math.Abs(value-cost) > 1e-6*value {
		t.Errorf("cost %g, the needs are worth %g", cost, value)
	}
}

// A Covering that is solved again, for smaller needs with fewer bins, has the same cost as a new one.
func TestCoveringIsKept(t *testing.T) {
	for seed := range uint64(20) {
		bins, needs := drawCovering(seed, 60, 3, 4)
		kept := lp.NewCovering(3, 4)
		kept.SetBins(bins)
		for round := range 12 {
			if round == 6 {
				bins = bins[24:]
				kept.SetBins(bins)
			}
			prices, cost := kept.Solve(needs)
			holds(t, bins, needs, prices, cost)
			fresh := lp.NewCovering(3, 4)
			fresh.SetBins(bins)
			prices, want := fresh.Solve(needs)
			holds(t, bins, needs, prices, want)
			if math.Abs(cost-want) > 1e-3*want {
				t.Errorf("seed %d, round %d: cost %g, want %g", seed, round, cost, want)
			}
			for g := range needs {
				for d := range needs[g] {
					needs[g][d] *= 0.8 + 0.2*float64((g+d+round)%3)/2
				}
			}
		}
	}
}

// With one group and one dimension, the cost is the need at the price of the bin with the most capacity per dollar.
func TestCoveringOfOneDimension(t *testing.T) {
	c := lp.NewCovering(1, 1)
	c.SetBins([]lp.CoverBin{{Key: 0, Capacity: []float64{4}, Price: 1, Groups: 1}, {Key: 1, Capacity: []float64{10}, Price: 2, Groups: 1}})
	if _, cost := c.Solve([][]float64{{25}}); math.Abs(cost-5) > close {
		t.Errorf("cost %g, want 5", cost)
	}
}

// A unit of demand costs nothing more while a supply covers it, else as much as bins without a supply.
func TestCoveringSupplies(t *testing.T) {
	for _, tt := range []struct{ need, left, want float64 }{{20, 3, 0}, {50, 3, 0.1}, {20, 0, 0.1}, {20, 1, 0.1}} {
		c := lp.NewCovering(1, 1)
		c.Supplies = []float64{tt.left}
		c.SetBins([]lp.CoverBin{
			{Key: 0, Capacity: []float64{10}, Price: 1, Groups: 1},
			{Key: 1, Capacity: []float64{10}, Price: 1e-7, Groups: 1, Draw: 1},
		})
		if prices, _ := c.Solve([][]float64{{tt.need}}); math.Abs(prices[0][0]-tt.want) > 1e-6 {
			t.Errorf("need %v, supply %v: price %v, want %v", tt.need, tt.left, prices[0][0], tt.want)
		}
	}
}

// BenchmarkCovering measures what Solve of package binpack requires: one solve, then one for each twentieth of the
// needs.
func BenchmarkCovering(b *testing.B) {
	for _, kept := range []bool{true, false} {
		name := map[bool]string{true: "kept", false: "from nothing"}[kept]
		b.Run(name, func(b *testing.B) {
			bins, needs := drawCovering(1, 400, 4, 6)
			for b.Loop() {
				left := make([][]float64, len(needs))
				c := lp.NewCovering(4, 6)
				for round := range 60 {
					for g := range needs {
						left[g] = append(left[g][:0], needs[g]...)
						for d := range left[g] {
							left[g][d] *= math.Pow(0.95, float64(round)) * (1 + 0.1*math.Sin(float64(round+g+d)))
						}
					}
					if !kept {
						c = lp.NewCovering(4, 6)
					}
					if round == 0 || !kept {
						c.SetBins(bins)
					}
					c.Solve(left)
				}
			}
		})
	}
}
