package disrupt

import (
	"fmt"
	"math/rand/v2"
	"testing"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/scenario"
)

// crowded returns a cluster of many nodes of a few types with pods of a few sizes, or of nodes of the best type, as full as can be.
func crowded(seed uint64, nodes int, full bool) *scenario.Cluster {
	r := rand.New(rand.NewPCG(seed, 0))
	c := &scenario.Cluster{
		Pools: []scenario.Pool{{Name: "default", Disruption: apiv1.Disruption{
			ConsolidateAfter: apiv1.MustParseNillableDuration("0s"), Budgets: []apiv1.Budget{{Nodes: "100%"}},
		}}},
		Types: []scenario.Type{
			{Name: "c.large", CPU: "2", Memory: "4Gi", Price: 0.08}, {Name: "m.large", CPU: "2", Memory: "8Gi", Price: 0.1},
			{Name: "m.xlarge", CPU: "4", Memory: "16Gi", Price: 0.2}, {Name: "r.xlarge", CPU: "4", Memory: "32Gi", Price: 0.26},
			{Name: "old.large", CPU: "2", Memory: "8Gi", Price: 0.14}, {Name: "m.2xlarge", CPU: "8", Memory: "32Gi", Price: 0.4},
		},
	}
	memory := []string{"500Mi", "900Mi", "1700Mi"}
	if full {
		memory = memory[:2]
	}
	room := map[string]int{"c.large": 4, "m.large": 4, "old.large": 4, "m.xlarge": 8, "r.xlarge": 8, "m.2xlarge": 16}
	for i := range nodes {
		t := c.Types[r.IntN(len(c.Types))].Name
		if full {
			t = "c.large"
		}
		n := scenario.Node{Name: fmt.Sprintf("n%03d", i), Pool: "default", Type: t, Conditions: []string{"Consolidatable"}}
		pods := 1 + r.IntN(room[t])
		if full {
			pods = room[t]
		}
		for k := range pods {
			n.Pods = append(n.Pods, scenario.Pod{Name: fmt.Sprintf("p%d-%d", i, k), CPU: "450m", Memory: memory[r.IntN(len(memory))]})
		}
		c.Nodes = append(c.Nodes, n)
	}
	return c
}

// What a sketch calls hopeless, the whole cluster does not carry out either; and it calls something hopeless, and something
// not.
func TestSketchAgreesWithTheWhole(t *testing.T) {
	hopeless, hopeful := 0, 0
	for seed := range uint64(5) {
		s, err := crowded(seed, 60, seed%2 == 0).Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		d := newDecider(s, Options{}, Cursor{})
		d.look()
		k := d.sketch()
		for _, c := range d.ours {
			if !plain(c.pods) {
				t.Fatalf("pods of %s are not plain", c.node.Name)
			}
			if !d.hopeless(k, c) {
				hopeful++
				continue
			}
			hopeless++
			p := d.whatIf(d.view, []*candidate{c})
			if d.judge(p); p.verdict.OK() {
				t.Errorf("seed %d: %s is hopeless by the sketch, and would save $%.4f/h", seed, c.node.Name, p.saves)
			}
		}
	}
	if hopeless == 0 || hopeful == 0 {
		t.Errorf("%d nodes are hopeless and %d are not", hopeless, hopeful)
	}
}
