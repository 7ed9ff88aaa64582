package disrupt_test

import (
	"testing"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/scenario"
)

// With a budget of one node at a time, emptiness, drift and consolidation use it in turn, although there is always an empty
// node.
func TestMethodsTakeTurns(t *testing.T) {
	c := scenario.Cluster{
		Pools: []scenario.Pool{{Name: "default", Disruption: apiv1.Disruption{
			ConsolidateAfter: apiv1.MustParseNillableDuration("0s"), Budgets: []apiv1.Budget{{Nodes: "1"}},
		}}},
		Types: []scenario.Type{
			{Name: "m.large", CPU: "2", Memory: "8Gi", Price: 0.1}, {Name: "m.xlarge", CPU: "4", Memory: "16Gi", Price: 0.4},
		},
		Nodes: []scenario.Node{
			{Name: "empty", Pool: "default", Type: "m.large", Conditions: []string{"Consolidatable"}},
			{Name: "drifted", Pool: "default", Type: "m.large", Conditions: []string{"Drifted"},
				Pods: []scenario.Pod{{Name: "a", CPU: "1900m"}}},
			{Name: "dear", Pool: "default", Type: "m.xlarge", Conditions: []string{"Consolidatable"},
				Pods: []scenario.Pod{{Name: "b", CPU: "1900m"}}},
		},
	}
	s, err := c.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	var cursor disrupt.Cursor
	for range 3 {
		d := disrupt.Decide(s, disrupt.Options{}, cursor)
		cursor = d.Cursor
		if len(d.Commands) != 1 {
			t.Fatalf("%d commands within a budget of one:\n%s", len(d.Commands), d)
		}
		seen[d.Commands[0].Nodes[0].Name] = true
	}
	if len(seen) != 3 {
		t.Errorf("in three decisions only %v had a turn", seen)
	}
}

// If a decision reaches MaxWhatIfs, the next decision begins with the nodes that were not evaluated.
func TestCursorGoesOn(t *testing.T) {
	c := scenario.Cluster{
		Pools: []scenario.Pool{{Name: "default", Disruption: apiv1.Disruption{
			ConsolidateAfter: apiv1.MustParseNillableDuration("0s"), Budgets: []apiv1.Budget{{Nodes: "100%"}},
		}}},
		Types: []scenario.Type{{Name: "m.large", CPU: "2", Memory: "8Gi", Price: 0.1}},
	}
	for _, name := range []string{"n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8"} {
		c.Nodes = append(c.Nodes, scenario.Node{Name: name, Pool: "default", Type: "m.large",
			Conditions: []string{"Consolidatable"}, Pods: []scenario.Pod{{Name: "p" + name, CPU: "1500m"}}})
	}
	s, err := c.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	looked := map[string]bool{}
	var cursor disrupt.Cursor
	for range 8 {
		d := disrupt.Decide(s, disrupt.Options{MaxWhatIfs: 4}, cursor)
		cursor = d.Cursor
		for _, b := range d.Blocked {
			if b.Verdict.Rule != model.RuleEffort {
				looked[b.Node.Name] = true
			}
		}
		if len(looked) == 8 {
			return
		}
	}
	t.Errorf("after eight decisions only %v were looked at", looked)
}
