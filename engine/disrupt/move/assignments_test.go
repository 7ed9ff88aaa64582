package move_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/move"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/scenario"
)

// If no assignments are known, Assignments assigns the pods of marked nodes to the replacements of their node, largest pods
// first. Pods that do not fit there are assigned to other nodes with free capacity. Pods of unmarked nodes and pending pods
// are not assigned.
func TestPlaces(t *testing.T) {
	marked := []string{apiv1.ConditionTypeDisruptionReason}
	waitFor := map[string]string{"old-a-claim": "a-new-claim", "old-b-claim": "b-new-claim,gone"}
	c := scenario.Cluster{
		Pools: []scenario.Pool{{Name: "default"}},
		Types: []scenario.Type{
			{Name: "m.large", CPU: "2", Memory: "8Gi", Price: 0.1}, {Name: "m.xlarge", CPU: "4", Memory: "16Gi", Price: 0.2},
		},
		Nodes: []scenario.Node{
			{Name: "a-new", Pool: "default", Type: "m.large"},
			{Name: "b-new", Pool: "default", Type: "m.large", NodeState: scenario.NodeState{Starting: true}},
			{Name: "c-room", Pool: "default", Type: "m.large", Pods: []scenario.Pod{{Name: "stays", CPU: "500m"}}},
			{Name: "old-a", Pool: "default", Type: "m.xlarge", NodeState: scenario.NodeState{Deleting: true}, Conditions: marked,
				Pods: []scenario.Pod{{Name: "a1", CPU: "500m"}, {Name: "a2", CPU: "1500m"}, {Name: "a3", CPU: "1"}}},
			{Name: "old-b", Pool: "default", Type: "m.xlarge", Conditions: marked,
				Pods: []scenario.Pod{{Name: "b1", CPU: "2"}}},
		},
		Pods: []scenario.Pod{{Name: "waits", CPU: "100m"}},
	}
	d, err := c.Delta()
	if err != nil {
		t.Fatal(err)
	}
	for _, claim := range d.Claims {
		claim.Annotations = map[string]string{apiv1.ReplacedByAnnotationKey: waitFor[claim.Name]}
	}
	s := model.Compile(d)
	got := map[string]string{}
	for _, pl := range move.Assignments(s, pack.Options{Labels: apiv1.CoreLabels()}) {
		for _, p := range pl.Pods {
			got[strings.TrimPrefix(p.Key, "default/")] = pl.Node.Name
		}
	}
	want := map[string]string{"a1": "a-new", "a2": "a-new", "a3": "c-room", "b1": "b-new-claim"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if none := move.Assignments(&model.Snapshot{}, pack.Options{}); len(none) > 0 {
		t.Errorf("in an empty cluster pods go to %v", none)
	}
}
