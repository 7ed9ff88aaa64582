package disrupt_test

import (
	"slices"
	"strings"
	"testing"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/scenario"
)

// Whichever method comes first, no pod moves to an empty node that could be deleted instead. Node a has a pod, nodes b and c
// are empty. If the budget allows, b and c are deleted. If it allows one node, an empty node is deleted. But if emptiness does
// not come first and node a is more expensive, consolidation deletes node a.
func TestEmptyNodesTakeNoPods(t *testing.T) {
	for _, tt := range []struct {
		budget, holds string // the type of the node that holds the pod
		goes          [3]string
	}{
		{"100%", "m.large", [3]string{"b c", "b c", "b c"}},
		{"1", "m.large", [3]string{"b", "b", "b"}},
		{"1", "m.xlarge", [3]string{"b", "a", "a"}},
	} {
		c := scenario.Cluster{
			Pools: []scenario.Pool{{Name: "default", Disruption: apiv1.Disruption{
				ConsolidateAfter: apiv1.MustParseNillableDuration("0s"), Budgets: []apiv1.Budget{{Nodes: tt.budget}},
			}}},
			Types: []scenario.Type{
				{Name: "m.large", CPU: "2", Memory: "8Gi", Price: 0.1}, {Name: "m.xlarge", CPU: "4", Memory: "16Gi", Price: 0.4},
			},
			Nodes: []scenario.Node{
				{Name: "a", Pool: "default", Type: tt.holds, Conditions: []string{"Consolidatable"}, Pods: []scenario.Pod{{Name: "web", CPU: "1500m"}}},
				{Name: "b", Pool: "default", Type: "m.large", Conditions: []string{"Consolidatable"}},
				{Name: "c", Pool: "default", Type: "m.large", Conditions: []string{"Consolidatable"}},
			},
		}
		s, err := c.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		for turn, want := range tt.goes {
			d := disrupt.Decide(s, disrupt.Options{Pack: pack.Options{Labels: apiv1.CoreLabels()}}, disrupt.Cursor{Turn: turn})
			var goes []string
			for _, cmd := range d.Commands {
				goes = append(goes, cmd.Names()...)
			}
			slices.Sort(goes)
			if got := strings.Join(goes, " "); got != want {
				t.Errorf("budget %s, turn %d: %s go, want %s\n%s", tt.budget, turn, got, want, d)
			}
		}
	}
}
