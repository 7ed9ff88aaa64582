package model_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
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
	if got := len(s.WithoutPending().Pending()); got != 0 {
		t.Errorf("%d pods wait in a calm cluster", got)
	}
}

// A pod may be bound to a claim whose node has not joined. No other pod is bound to it, although another node has its name.
func TestBoundToClaim(t *testing.T) {
	s := whatIfCluster(t)
	s = s.Apply(model.Delta{Claims: []*apiv1.NodeClaim{{ObjectMeta: metav1.ObjectMeta{
		Name: "n2", Labels: map[string]string{apiv1.NodePoolLabelKey: "default"},
	}}}})
	claim := func(s *model.Snapshot) *model.Node {
		i := slices.IndexFunc(s.Nodes(), func(n *model.Node) bool { return n.Object == nil })
		return s.Nodes()[i]
	}
	if got := claim(s).Pods; len(got) != 0 {
		t.Errorf("%v are bound to the claim at first", keys(got))
	}
	w := s.Bound([]model.Placement{{Node: claim(s), Pods: s.Pending()}})
	if got := keys(claim(w).Pods); !slices.Equal(got, []string{"default/waits"}) || claim(w).Used["cpu"] != 1000 {
		t.Errorf("%v are bound to the claim and use %v", got, claim(w).Used)
	}
	if n2, _ := w.NodeByName("n2"); len(n2.Pods) != 1 || len(w.Pending()) != 0 {
		t.Errorf("node n2 has %v, and %v still wait", keys(n2.Pods), keys(w.Pending()))
	}
	w = w.Without(claim(w))
	if got := keys(w.Pending()); !slices.Equal(got, []string{"default/waits"}) {
		t.Errorf("%v wait without the claim", got)
	}
}

// Close adds to the nodes that are closed already. Changes of the snapshot keep them closed.
func TestClose(t *testing.T) {
	s := whatIfCluster(t)
	named := func(name string) func(*model.Node) bool {
		return func(n *model.Node) bool { return n.Name == name }
	}
	first := s.Close(named("n1"))
	both := first.Close(named("n2")).WithoutPending().Apply(model.Delta{})
	for _, n := range s.Nodes() {
		if s.Closed(n) || first.Closed(n) != (n.Name == "n1") || !both.Closed(n) {
			t.Errorf("%s is closed: %v at first, %v after one call, %v after two", n.Name, s.Closed(n), first.Closed(n), both.Closed(n))
		}
	}
}
