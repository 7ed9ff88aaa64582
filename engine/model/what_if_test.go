package model_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/scenario"
)

func whatIfCluster(t *testing.T) *model.Snapshot {
	t.Helper()
	c := scenario.Cluster{
		Pools: []scenario.Pool{{Name: "default"}},
		Types: []scenario.Type{{Name: "m.large", CPU: "2", Memory: "8Gi", Price: 0.1}},
		Pods:  []scenario.Pod{{Name: "waits", CPU: "1"}},
		Nodes: []scenario.Node{
			{Name: "n1", Pool: "default", Type: "m.large", Pods: []scenario.Pod{
				{Name: "web", CPU: "500m"}, {Name: "agent", CPU: "100m", Owner: "DaemonSet"}, {Name: "over", PodState: scenario.PodState{Done: true}},
			}},
			{Name: "n2", Pool: "default", Type: "m.large", Pods: []scenario.Pod{{Name: "db", CPU: "1"}}},
		},
	}
	s, err := c.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func keys(pods []*model.Pod) []string {
	var out []string
	for _, p := range pods {
		out = append(out, p.Key)
	}
	return out
}

// Without removes a node and its claim. The reschedulable pods of the node become pending, and no other pod is pending. The
// original snapshot does not change.
func TestWithout(t *testing.T) {
	s := whatIfCluster(t)
	n, _ := s.NodeByName("n1")
	w := s.Without(n)
	if diff := cmp.Diff([]string{"default/web"}, keys(w.Pending())); diff != "" {
		t.Errorf("pods that wait (-want +got):\n%s", diff)
	}
	if _, ok := w.NodeByName("n1"); ok || len(w.Nodes()) != 1 || len(w.Claims.Values()) != 1 {
		t.Errorf("%d nodes and %d claims are left, want one of each", len(w.Nodes()), len(w.Claims.Values()))
	}
	if _, ok := w.Pods.Get("default/agent"); ok {
		t.Error("the daemon's pod is still there")
	}
	if got := keys(s.Pending()); len(got) != 1 || got[0] != "default/waits" || len(s.Nodes()) != 2 {
		t.Errorf("the snapshot itself has changed: %v wait, %d nodes", got, len(s.Nodes()))
	}
}

// A pod that is bound again uses resources of its new node.
func TestBound(t *testing.T) {
	s := whatIfCluster(t)
	n1, _ := s.NodeByName("n1")
	w := s.Without(n1)
	n2, _ := w.NodeByName("n2")
	w = w.Bound([]model.Placement{{Node: n2, Pods: w.Pending()}})
	if len(w.Pending()) != 0 {
		t.Errorf("%v still wait", keys(w.Pending()))
	}
	n2, _ = w.NodeByName("n2")
	if got := n2.Used["cpu"]; got != 1500 {
		t.Errorf("%d millicores are used, want 1500", got)
	}
	if got := len(s.Calm().Pending()); got != 0 {
		t.Errorf("%d pods wait in a calm cluster", got)
	}
}
