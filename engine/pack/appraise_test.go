package pack

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// What gaps finds fits, and is worth most; where the amounts are too many to be told apart, it at least fits.
func TestGaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, amounts := rapid.IntRange(1, 600).Draw(t, "articles"), rapid.Int64Range(0, rapid.SampledFrom([]int64{9, 1 << 40}).Draw(t, "most"))
		open := make([]article, n)
		for i := range open {
			open[i] = article{x: amounts.Draw(t, "x"), y: amounts.Draw(t, "y"), value: float64(n - i), kind: i}
		}
		var g gaps
		g.set(open, nil)
		for range 20 {
			x, y := amounts.Draw(t, "room x"), amounts.Draw(t, "room y")
			want := [2]int32{none, none}
			for i, o := range open {
				if o.x <= x && o.y <= y {
					want = firstTwo(want, [2]int32{int32(i), none})
				}
			}
			got := g.within(x, y)
			if n <= maxSteps && got != want {
				t.Fatalf("within %d, %d: articles %v, want %v", x, y, got, want)
			}
			for i, m := range got {
				if m < want[i] || m != none && (open[m].x > x || open[m].y > y) {
					t.Fatalf("within %d, %d: article %d, and the best is %d", x, y, m, want[i])
				}
			}
		}
	})
}

// Of three units, any two fit on one node, but not all three: each is worth half a node, though the nodes are three quarters
// full then.
func TestSettle(t *testing.T) {
	a := &appraiser{t: &tier{}}
	left := []int{1, 1, 1}
	for i := range left {
		a.t.kinds = append(a.t.kinds, &kind{index: i, left: 1})
		a.worth = append(a.worth, 0.2+0.3*float64(i))
		a.pool.add([]int32{int32(i)}, 1, left)
		a.pool.add([]int32{int32(i), int32((i + 1) % 3)}, 1, left)
	}
	a.pool.add([]int32{1, 0}, 1, left) // known already
	if n := len(a.pool.price); n != 6 {
		t.Errorf("%d sets are known, want 6", n)
	}
	a.settle(2)
	for i, v := range a.worth {
		if math.Abs(v-0.5) > 0.01 {
			t.Errorf("unit %d is worth %.3f, want 0.5", i, v)
		}
	}
}

// Whatever the units and bins: a plan has each unit once, and each node is the cheapest that holds what it has.
func TestComposed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := &appraiser{t: &tier{}, y: 1}
		amount := rapid.Int64Range(1, 100)
		for i := range rapid.IntRange(1, 40).Draw(t, "kinds") {
			k := &kind{index: i, left: rapid.IntRange(1, 4).Draw(t, "left"), amount: []int64{amount.Draw(t, "x"), amount.Draw(t, "y")}}
			a.t.kinds = append(a.t.kinds, k)
			a.worth = append(a.worth, rapid.Float64Range(0.01, 2).Draw(t, "worth"))
		}
		for i := range rapid.IntRange(0, 8).Draw(t, "bins") {
			a.bins = append(a.bins, bin{x: amount.Draw(t, "room x"), y: amount.Draw(t, "room y"), price: 1 + float64(i)})
		}
		a.bins = append(a.bins, bin{x: 100, y: 100, price: 10})
		a.byPrice = slices.Clone(a.bins)
		slices.SortStableFunc(a.byPrice, func(a, b bin) int { return cmp.Compare(a.price, b.price) })
		a.choose()
		a.propose()
		a.settle(1000)
		list, cost := a.plan()
		units, sum := make([]int, len(a.worth)), 0.0
		for _, p := range list {
			var x, y int64
			for _, m := range p.member[:p.size] {
				units[m]++
				x, y = x+a.t.kinds[m].amount[0], y+a.t.kinds[m].amount[1]
			}
			if b := a.cheapest(x, y); b == nil || b != p.bin {
				t.Fatalf("%d and %d are on %v, the cheapest that holds them is %v", x, y, p.bin, b)
			}
			sum += p.bin.price
		}
		if math.Abs(sum-cost) > 1e-9*sum {
			t.Errorf("the nodes cost %v, the plan says %v", sum, cost)
		}
		for i, k := range a.t.kinds {
			if units[i] != k.left {
				t.Errorf("%d units of kind %d have a node, there are %d", units[i], i, k.left)
			}
		}
	})
}

// A column is left out only if those that stay leave no shape short of it.
func TestMattering(t *testing.T) {
	for _, c := range []struct {
		name  string
		room  []int64
		units [][]int64
		want  []int
	}{
		{"pods are plenty", []int64{10, 10, 100}, [][]int64{{1, 2, 1}, {2, 1, 1}}, []int{0, 1}},
		{"pods run out", []int64{10, 10, 6}, [][]int64{{1, 2, 1}, {2, 1, 1}}, []int{0, 1, 2}},
		{"each alone would do", []int64{5, 5, 5}, [][]int64{{1, 1, 1}}, []int{0}},
		{"nobody asks", []int64{10, 10, 0}, [][]int64{{1, 2, 0}, {2, 1, 0}}, []int{0, 1}},
	} {
		p := &pool{shapes: []*shape{{room: c.room}}}
		a := &tier{problem: &problem{cols: make(columns, len(c.room))}, shops: []*shop{{shelf: &shelf{pool: p}}}}
		for _, u := range c.units {
			a.kinds = append(a.kinds, &kind{amount: u})
		}
		if got := a.mattering(); !slices.Equal(got, c.want) {
			t.Errorf("%s: columns %v, want %v", c.name, got, c.want)
		}
	}
}
