package pack_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/scenario"
	"github.com/karpenter-go/karpenter/engine/verify"
)

// The pods are so large that a node holds two or three. verify accepts the plan. The plan is the same on one processor and
// for another order of input, and it costs at most as much as the plan without improvement.
func TestSparsePlans(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	gained := false
	for seed := range uint64(8) {
		c := awkward(rand.New(rand.NewPCG(seed, 2)), 160)
		s, err := c.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		runtime.GOMAXPROCS(2)
		plan := pack.Solve(s, pack.Options{Labels: labels})
		if v := verify.Plan(s, plan); len(v) > 0 {
			t.Errorf("seed %d: %v", seed, v)
		}
		if n := missing(plan); n > 0 {
			t.Errorf("seed %d: %d pods are refused", seed, n)
		}
		first := pack.Solve(s, pack.Options{Labels: labels, Fast: true})
		if plan.Price > first.Price+1e-9 {
			t.Errorf("seed %d: $%.4f, and $%.4f without looking for a cheaper plan", seed, plan.Price, first.Price)
		}
		gained = gained || plan.Price < first.Price*0.998
		runtime.GOMAXPROCS(1)
		slices.Reverse(c.Pods)
		slices.Reverse(c.Types)
		if s, err = c.Snapshot(); err != nil {
			t.Fatal(err)
		}
		if again := pack.Solve(s, pack.Options{Labels: labels}); again.String() != plan.String() {
			t.Errorf("seed %d: on one processor, input in reverse:\n%s\nwas:\n%s", seed, again, plan)
		}
	}
	if !gained {
		t.Error("looking for a cheaper plan never found one")
	}
}

// Package sparse brings the price of a plan near the floor.
func TestSparsePlansAreNearTheFloor(t *testing.T) {
	for seed := range uint64(4) {
		s, err := awkward(rand.New(rand.NewPCG(seed, 3)), 600).Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if plan := pack.Solve(s, pack.Options{Labels: labels}); plan.Price > plan.Floor*1.0125 {
			t.Errorf("seed %d: $%.4f, %.4f of the floor", seed, plan.Price, plan.Price/plan.Floor)
		}
	}
}

// awkward returns n pods, each of another size, from a twelfth to two thirds of the largest types.
func awkward(r *rand.Rand, n int) *scenario.Cluster {
	c := &scenario.Cluster{Pools: []scenario.Pool{{Name: "default"}}}
	for _, cores := range []int{8, 16, 32, 48, 64} {
		for i, ratio := range []int{2, 4, 8} {
			price := []float64{0.034, 0.0385, 0.0504}[i]
			c.Types = append(c.Types, scenario.Type{
				Name: fmt.Sprintf("r%d-%d", ratio, cores), CPU: fmt.Sprintf("%dm", cores*1000-290),
				Memory: fmt.Sprintf("%dMi", cores*ratio*1024-900), Price: price * float64(cores),
			})
		}
	}
	for i := range n {
		c.Pods = append(c.Pods, scenario.Pod{
			Name: fmt.Sprintf("a%d", i), CPU: fmt.Sprintf("%dm", 5000+500*r.IntN(70)), Memory: fmt.Sprintf("%dGi", 8+r.IntN(192)),
		})
	}
	return c
}
