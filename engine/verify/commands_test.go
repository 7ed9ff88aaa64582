package verify_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/scenario"
	"github.com/karpenter-go/karpenter/engine/verify"
)

// merger returns a snapshot with half-empty nodes n1 and n2, and a command that removes n1 and moves its pod to n2.
func merger(t *testing.T) (*model.Snapshot, model.Command) {
	t.Helper()
	c := scenario.Cluster{
		Pools: []scenario.Pool{{Name: "default"}},
		Types: []scenario.Type{
			{Name: "m.large", CPU: "2", Memory: "8Gi", Price: 0.1}, {Name: "m.xlarge", CPU: "4", Memory: "16Gi", Price: 0.2},
		},
		Nodes: []scenario.Node{
			{Name: "n1", Pool: "default", Type: "m.large", Pods: []scenario.Pod{{Name: "web", CPU: "500m"}}},
			{Name: "n2", Pool: "default", Type: "m.large", Pods: []scenario.Pod{{Name: "db", CPU: "1"}}},
			{Name: "n3", Pool: "default", Type: "m.large", Pods: []scenario.Pod{{Name: "full", CPU: "1800m"}}},
			{Name: "going", Pool: "default", Type: "m.large", NodeState: scenario.NodeState{Deleting: true}},
		},
	}
	s, err := c.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return s, model.Command{
		Reason: apiv1.DisruptionReasonUnderutilized, Method: "single", Nodes: []*model.Node{node(t, s, "n1")}, Saves: 0.1,
		Placements: []model.Placement{{Node: node(t, s, "n2"), Pods: node(t, s, "n1").Pods}},
	}
}

func node(t *testing.T, s *model.Snapshot, name string) *model.Node {
	t.Helper()
	n, ok := s.NodeByName(name)
	if !ok {
		t.Fatalf("no node %s", name)
	}
	return n
}

// replacement returns a planned node of the instance type, with the pods of n1.
func replacement(t *testing.T, s *model.Snapshot, typeName string) model.PlannedNode {
	t.Helper()
	pool, _ := s.Pool("default")
	for _, typ := range s.Types("default") {
		if typ.Name == typeName {
			o, _ := typ.Cheapest(pool.Requirements)
			pods := node(t, s, "n1").Pods
			return model.PlannedNode{Pool: pool, Requirements: pool.Requirements, Options: []*model.InstanceType{typ},
				Offering: o, Pods: pods, Requests: pods[0].Requests}
		}
	}
	t.Fatalf("no type %s", typeName)
	return model.PlannedNode{}
}

func TestCommands(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(s *model.Snapshot, c *model.Command) []model.Command
		want  verify.Rule // the rule that is violated; empty for none
	}{
		{"a sound one", func(_ *model.Snapshot, c *model.Command) []model.Command { return []model.Command{*c} }, ""},
		{"a pod without a place", func(_ *model.Snapshot, c *model.Command) []model.Command {
			c.Placements = nil
			return []model.Command{*c}
		}, verify.RuleAccount},
		{"one that has to go leaves pods without a place", func(_ *model.Snapshot, c *model.Command) []model.Command {
			c.Placements, c.Reason = nil, "Expired"
			return []model.Command{*c}
		}, ""},
		{"a place that is too small", func(s *model.Snapshot, c *model.Command) []model.Command {
			c.Placements[0].Node = node(t, s, "n3")
			return []model.Command{*c}
		}, verify.RuleResources},
		{"a place that goes itself", func(s *model.Snapshot, c *model.Command) []model.Command {
			c.Placements[0].Node = node(t, s, "n1")
			return []model.Command{*c}
		}, verify.RuleNode},
		{"a node that goes twice", func(_ *model.Snapshot, c *model.Command) []model.Command {
			return []model.Command{*c, {Reason: c.Reason, Nodes: c.Nodes}}
		}, verify.RuleNode},
		{"a node that is going", func(s *model.Snapshot, c *model.Command) []model.Command {
			return []model.Command{{Reason: apiv1.DisruptionReasonEmpty, Nodes: []*model.Node{node(t, s, "going")}}}
		}, verify.RuleNode},
		{"no node at all", func(_ *model.Snapshot, c *model.Command) []model.Command {
			return []model.Command{{Reason: c.Reason}}
		}, verify.RuleNode},
		{"a dearer replacement", func(s *model.Snapshot, c *model.Command) []model.Command {
			c.Placements, c.Replacements = nil, []model.PlannedNode{replacement(t, s, "m.xlarge")}
			return []model.Command{*c}
		}, verify.RulePrice},
		{"an equal replacement", func(s *model.Snapshot, c *model.Command) []model.Command {
			c.Placements, c.Replacements = nil, []model.PlannedNode{replacement(t, s, "m.large")}
			return []model.Command{*c}
		}, verify.RulePrice},
		{"a dearer one for drift", func(s *model.Snapshot, c *model.Command) []model.Command {
			c.Placements, c.Replacements = nil, []model.PlannedNode{replacement(t, s, "m.xlarge")}
			c.Reason = apiv1.DisruptionReasonDrifted
			return []model.Command{*c}
		}, ""},
		{"room that is given away twice", func(s *model.Snapshot, c *model.Command) []model.Command {
			return []model.Command{*c, {
				Reason: c.Reason, Nodes: []*model.Node{node(t, s, "n3")},
				Placements: []model.Placement{{Node: node(t, s, "n2"), Pods: node(t, s, "n3").Pods}},
			}}
		}, verify.RuleResources},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, c := merger(t)
			found := verify.Commands(s, nil, tt.spoil(s, &c))
			switch {
			case tt.want == "" && len(found) > 0:
				t.Errorf("refused: %v", found)
			case tt.want != "" && (len(found) == 0 || found[0].Rule != tt.want):
				t.Errorf("found %v, want %s", found, tt.want)
			}
		})
	}
}

// web has a hard spread over zones.
func web(name string) scenario.Pod {
	p := scenario.Pod{Name: name, CPU: "1500m", Labels: map[string]string{"app": "web"}}
	p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels},
	}}
	return p
}

// The pod of a node whose disruption has begun counts on the claim where it is expected, not on its old node. That node is no
// topology domain.
func TestCommandsCountPodsWhereTheyAreExpected(t *testing.T) {
	for _, tt := range []struct {
		zone  string // of the claim for the pod of the node moving, which is in zone c
		valid bool   // whether n1 may be replaced in zone a
	}{{"b", true}, {"a", false}} {
		c := scenario.Cluster{
			Pools: []scenario.Pool{{Name: "default"}},
			Types: []scenario.Type{{Name: "m.large", CPU: "2", Memory: "8Gi", Price: 0.1, Zones: []string{"a", "b", "c"}}},
			Nodes: []scenario.Node{
				{Name: "n1", Pool: "default", Type: "m.large", Zone: "a", Pods: []scenario.Pod{web("web-1")}},
				{Name: "n2", Pool: "default", Type: "m.large", Zone: "b", Pods: []scenario.Pod{{Name: "db"}}},
				{Name: "moving", Pool: "default", Type: "m.large", Zone: "c", Pods: []scenario.Pod{web("web-2")},
					Conditions: []string{apiv1.ConditionTypeDisruptionReason + "/Expired"}},
			},
			Claims: []scenario.Claim{{Name: "new", Pool: "default", Types: []string{"m.large"}, Zones: []string{tt.zone}}},
		}
		s, err := c.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		command := model.Command{
			Reason: "Expired", Nodes: []*model.Node{node(t, s, "n1")}, Replacements: []model.PlannedNode{replacement(t, s, "m.large")},
		}
		r := &command.Replacements[0]
		r.Requirements = r.Requirements.With(require.New(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, "a"))
		expected := []model.Placement{{Node: node(t, s, "new"), Pods: node(t, s, "moving").Pods}}
		if found := verify.Commands(s, expected, []model.Command{command}); len(found) == 0 != tt.valid {
			t.Errorf("pod expected in zone %s: found %v", tt.zone, found)
		}
	}
}
