package move_test

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/move"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/scenario"
)

// leftovers returns a cluster, after a call of change, and its nodes r1 to r3. They are replacements of commands that were
// rolled back.
func leftovers(t *testing.T, change func(*scenario.Cluster)) (*model.Snapshot, []*model.Node) {
	c := scenario.Cluster{
		Pools: []scenario.Pool{{Name: "default"}},
		Types: []scenario.Type{
			{Name: "m.large", CPU: "2", Memory: "8Gi", Price: 0.1}, {Name: "m.small", CPU: "1", Memory: "4Gi", Price: 0.05},
		},
		Nodes: []scenario.Node{
			{Name: "old", Pool: "default", Type: "m.large", Pods: []scenario.Pod{{Name: "a", CPU: "1500m"}}},
			{Name: "r1", Pool: "default", Type: "m.large"}, {Name: "r2", Pool: "default", Type: "m.large"},
			{Name: "r3", Pool: "default", Type: "m.large"},
		},
	}
	change(&c)
	s, err := c.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	var nodes []*model.Node
	for _, n := range s.Nodes() {
		if n.Name[0] == 'r' {
			nodes = append(nodes, n)
		}
	}
	return s, nodes
}

// comeUp makes r1 to r3 nodes that are registered but not initialized. Their claims were created that long ago.
func comeUp(c *scenario.Cluster, after time.Duration) {
	for i := range c.Nodes {
		if n := &c.Nodes[i]; n.Name != "old" {
			n.Joining, n.Life.Age = true, metav1.Duration{Duration: after}
		}
	}
}

// start makes r1 to r3 instances that were launched a minute ago and are not registered.
func start(c *scenario.Cluster) {
	for i := range c.Nodes {
		if n := &c.Nodes[i]; n.Name != "old" {
			n.Starting, n.Life.Age = true, metav1.Duration{Duration: time.Minute}
		}
	}
}

// Of the replacements of commands that were rolled back, only those stay that pods need.
func TestSurplusReplacements(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*scenario.Cluster)
		used   int // how many of three stay
	}{
		"no pod needs them": {func(*scenario.Cluster) {}, 0},
		"two pods wait that fit one to a node": {func(c *scenario.Cluster) {
			c.Pods = []scenario.Pod{{Name: "waits", Count: 2, CPU: "1500m"}}
		}, 2},
		"a pod waits that fits beside another": {func(c *scenario.Cluster) {
			c.Pods = []scenario.Pod{{Name: "waits", CPU: "500m"}}
		}, 0},
		"a marked node's pod has no other place": {func(c *scenario.Cluster) {
			c.Nodes[0].Conditions = []string{apiv1.ConditionTypeDisruptionReason}
		}, 1},
		"one runs a pod": {func(c *scenario.Cluster) {
			c.Nodes[2].Pods = []scenario.Pod{{Name: "b", CPU: "100m"}}
		}, 1},
		"one is not to be disrupted": {func(c *scenario.Cluster) {
			c.Nodes[3].Annotations = map[string]string{apiv1.DoNotDisruptAnnotationKey: "true"}
		}, 1},
		"three come up, and two pods wait that fit one to a node": {func(c *scenario.Cluster) {
			c.Pods = []scenario.Pod{{Name: "waits", Count: 2, CPU: "1500m"}}
			comeUp(c, time.Minute)
		}, 2},
		"three should have come up long ago, and two pods wait": {func(c *scenario.Cluster) {
			c.Pods = []scenario.Pod{{Name: "waits", Count: 2, CPU: "1500m"}}
			comeUp(c, 16*time.Minute)
		}, 0},
		"three boot, and two pods wait that fit one to a node": {func(c *scenario.Cluster) {
			c.Pods = []scenario.Pod{{Name: "waits", Count: 2, CPU: "1500m"}}
			start(c)
		}, 2},
		"three boot, and a pod waits that a cheaper node would do for": {func(c *scenario.Cluster) {
			c.Nodes[0].Pods[0].CPU, c.Pods = "2", []scenario.Pod{{Name: "waits", CPU: "500m"}}
			start(c)
		}, 0},
		"three come up, and a pod waits that a cheaper node would do for": {func(c *scenario.Cluster) {
			c.Nodes[0].Pods[0].CPU, c.Pods = "2", []scenario.Pod{{Name: "waits", CPU: "500m"}}
			comeUp(c, time.Minute)
		}, 1},
		"three boot, and pods wait that two cheaper nodes would do for": {func(c *scenario.Cluster) {
			c.Nodes[0].Pods[0].CPU, c.Pods = "2", []scenario.Pod{{Name: "waits", Count: 2, CPU: "1"}}
			start(c)
		}, 1},
		"no node would do for the pod that waits": {func(c *scenario.Cluster) {
			c.Pods = []scenario.Pod{{Name: "huge", CPU: "64"}}
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s, nodes := leftovers(t, tt.change)
			spare, used := move.SurplusReplacements(s, nodes, pack.Options{Labels: apiv1.CoreLabels()})
			if len(used) != tt.used || len(spare)+len(used) != len(nodes) {
				t.Errorf("%d are spare and %d of use, want %d of use", len(spare), len(used), tt.used)
			}
			if again, _ := move.SurplusReplacements(s, nodes, pack.Options{Labels: apiv1.CoreLabels()}); !slices.Equal(again, spare) {
				t.Error("a second call returns other replacements")
			}
		})
	}
}
