package disrupt_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/scenario"
)

func cost(s *model.Snapshot) float64 {
	total := 0.0
	for _, n := range s.Nodes() {
		total += s.PriceOf(n)
	}
	return total
}

// A hundred half-empty nodes of all types are consolidated until no command is left. They then cost at most 7% more than a
// new plan for the same pods, and 3% more on average.
func TestManyNodesGetCheap(t *testing.T) {
	const seeds = 8
	sum := 0.0
	for seed := range uint64(seeds) {
		ratio, steps := consolidated(t, seed+1)
		if sum += ratio; ratio > 1.07 {
			t.Errorf("seed %d: %.3f of what it costs anew: %s an hour", seed+1, ratio, steps)
		}
	}
	if mean := sum / seeds; mean > 1.03 {
		t.Errorf("%.3f of what it costs anew on average", mean)
	}
}

// consolidated consolidates a hundred half-empty nodes until no command is left. ratio is their price divided by the price
// of a new plan for the same pods. steps lists the prices after each decision.
func consolidated(t *testing.T, seed uint64) (ratio float64, steps string) {
	r := rand.New(rand.NewPCG(seed, 0))
	c := scenario.Cluster{
		Pools: []scenario.Pool{{Name: "default", Disruption: apiv1.Disruption{
			ConsolidateAfter: apiv1.MustParseNillableDuration("0s"), Budgets: []apiv1.Budget{{Nodes: "100%"}},
		}}},
		Types: []scenario.Type{
			{Name: "c.large", CPU: "2", Memory: "4Gi", Price: 0.08}, {Name: "m.large", CPU: "2", Memory: "8Gi", Price: 0.1},
			{Name: "m.xlarge", CPU: "4", Memory: "16Gi", Price: 0.2}, {Name: "r.xlarge", CPU: "4", Memory: "32Gi", Price: 0.26},
			{Name: "old.large", CPU: "2", Memory: "8Gi", Price: 0.14}, {Name: "m.2xlarge", CPU: "8", Memory: "32Gi", Price: 0.4},
		},
	}
	for i := range 100 {
		kind := c.Types[r.IntN(len(c.Types))].Name
		n := scenario.Node{Name: fmt.Sprintf("n%03d", i), Pool: "default", Type: kind, Conditions: []string{"Consolidatable"}}
		for k := range 1 + r.IntN(3) {
			n.Pods = append(n.Pods, scenario.Pod{
				Name: fmt.Sprintf("p%d-%d", i, k), CPU: "450m", Memory: []string{"500Mi", "900Mi", "1700Mi"}[r.IntN(3)],
			})
		}
		c.Nodes = append(c.Nodes, n)
	}
	s, err := c.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	fresh := pack.Solve(s.Without(s.Nodes()...), pack.Options{}).Price
	told := fmt.Sprintf("$%.2f", cost(s))
	for range 10 {
		d := disrupt.Decide(s, options(), disrupt.Cursor{})
		if len(d.Commands) == 0 {
			break
		}
		s = carriedOut(s, d)
		told += fmt.Sprintf(", $%.2f", cost(s))
	}
	return cost(s) / fresh, told
}
