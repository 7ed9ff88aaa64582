package metrics

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/observe"
)

func TestUnsyncedTime(t *testing.T) {
	w := newWorld(t)
	known := &cluster{observe.New(w.clock), false}
	c := &ClusterState{Cluster: known, Clock: w.clock, Metrics: w.metrics.ClusterState}
	const synced, unsynced = "karpenter_cluster_state_synced", "karpenter_cluster_state_unsynced_time_seconds"
	w.run(c, "", "")
	w.clock.Step(7 * time.Second)
	w.run(c, "", "")
	w.expect(synced+" 0\n"+unsynced+" 7", synced, unsynced)
	known.synced = true
	w.run(c, "", "")
	w.expect(synced+" 1\n"+unsynced+" 0", synced, unsynced)
}

// A NodeClaim counts as a node from its launch on, with the resources that its status promises. Above MaxNodes too.
func TestLaunchedClaimsCount(t *testing.T) {
	const count, utilization = "karpenter_cluster_state_node_count", "karpenter_cluster_utilization_percent"
	for name, maxNodes := range map[string]int{"single series": 0, "sums": 1} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			known := &cluster{observe.New(w.clock), true}
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "n1"}}
			node.Status.Capacity, node.Status.Allocatable = amount("4", "8Gi"), amount("4", "8Gi")
			known.Set(node)
			known.Set(podOn("n1", "web", "1", false))
			for _, name := range []string{"planned", "launched"} {
				claim := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "1" + types.UID(name)}}
				if name == "launched" {
					claim.Status.ProviderID, claim.Status.Allocatable = "x:///i-1", amount("12", "8Gi")
				}
				known.Set(claim)
			}
			w.run(&ClusterState{Cluster: known, Clock: w.clock, Metrics: w.metrics.ClusterState}, "", "")
			w.run(&Nodes{Cluster: known, Clock: w.clock, Metrics: w.metrics, Detail: &Detail{MaxNodes: maxNodes}}, "", "")
			w.expect(count+` 2
				`+utilization+`{resource_type="cpu"} 6.25
				`+utilization+`{resource_type="memory"} 6.25`, count, utilization)
		})
	}
}
