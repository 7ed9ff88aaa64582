package pack_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/scenario"
	"github.com/karpenter-go/karpenter/engine/verify"
)

// drawCommitted returns a cluster of equal pods and a few types, with commitments of whole numbers of nodes. Prices are high
// enough that plans have no bias to few nodes.
func drawCommitted(r *rand.Rand) scenario.Cluster {
	c := scenario.Cluster{Pools: []scenario.Pool{{Name: "default"}}, Pods: []scenario.Pod{{Name: "p", Count: 2 + r.IntN(14), CPU: "1"}}}
	for i := range 1 + r.IntN(3) {
		cores := []int{1, 2, 3, 4, 6}[r.IntN(5)]
		c.Types = append(c.Types, scenario.Type{
			Name: fmt.Sprint("t", i), CPU: fmt.Sprint(cores), Memory: "64Gi", Price: float64(cores) * float64(80+r.IntN(40)) / 10,
		})
	}
	for i := range 1 + r.IntN(2) {
		x := scenario.Commitment{Name: fmt.Sprint("c", i), Units: int64(r.IntN(12)), Use: map[string]int64{}}
		for _, t := range c.Types {
			if r.IntN(2) == 0 {
				x.Use[t.Name] = int64(1 + r.IntN(4))
			}
		}
		c.Commitments = append(c.Commitments, x)
	}
	return c
}

func committed(t *testing.T, c *scenario.Cluster) *model.Snapshot {
	t.Helper()
	s, err := c.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Plans with commitments are verified, cost at most what they cost without, and not more with twice the units.
func TestCommitmentsNeverRaiseThePrice(t *testing.T) {
	for seed := range uint64(300) {
		c := drawCommitted(rand.New(rand.NewPCG(seed, 5)))
		solve := func() float64 {
			s := committed(t, &c)
			plan := pack.Solve(s, pack.Options{Labels: labels})
			if v := verify.Plan(s, plan, labels); len(v) > 0 || len(plan.Refusals) > 0 {
				t.Fatalf("seed %d: %v\n%s", seed, v, plan)
			}
			return plan.Price
		}
		with := solve()
		for i := range c.Commitments {
			c.Commitments[i].Units *= 2
		}
		twice := solve()
		c.Commitments = nil
		if without := solve(); with > without+1e-4 || twice > with+1e-4 {
			t.Errorf("seed %d: the plan costs %v, without commitments %v, with twice the units %v", seed, with, without, twice)
		}
	}
}

// The price is near the least of all ways to put equal pods on nodes, which are enumerated.
func TestCommitmentsBesideBruteForce(t *testing.T) {
	total, least := 0.0, 0.0
	for seed := range uint64(300) {
		c := drawCommitted(rand.New(rand.NewPCG(seed, 6)))
		plan := pack.Solve(committed(t, &c), pack.Options{Labels: labels})
		best := cheapestWay(&c, c.Pods[0].Count, unitsOf(&c), map[string]float64{})
		if plan.Price < best-1e-4 {
			t.Errorf("seed %d: the plan costs %v, less than the least of all ways, %v\n%s", seed, plan.Price, best, plan)
		}
		total, least = total+plan.Price, least+best
	}
	t.Logf("plans cost %.4f of the least", total/least)
	if total > 1.01*least {
		t.Errorf("plans cost %.4f of the least", total/least)
	}
}

func unitsOf(c *scenario.Cluster) (units []int64) {
	for _, x := range c.Commitments {
		units = append(units, x.Units)
	}
	return units
}

// cheapestWay returns the least price of nodes for so many pods of one core.
func cheapestWay(c *scenario.Cluster, pods int, units []int64, known map[string]float64) float64 {
	if pods <= 0 {
		return 0
	}
	key := fmt.Sprint(pods, units)
	if v, ok := known[key]; ok {
		return v
	}
	best := math.Inf(1)
	for _, t := range c.Types {
		var cores int
		if _, err := fmt.Sscan(t.CPU, &cores); err != nil {
			panic(err)
		}
		best = min(best, t.Price+cheapestWay(c, pods-cores, units, known))
		for i, x := range c.Commitments {
			if use := x.Use[t.Name]; use > 0 && use <= units[i] {
				less := append([]int64{}, units...)
				less[i] -= use
				best = min(best, cheapestWay(c, pods-cores, less, known))
			}
		}
	}
	known[key] = best
	return best
}
