package metrics

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/observe"
)

// cluster is an observed cluster. synced is whether its first lists are complete.
type cluster struct {
	*observe.Cluster
	synced bool
}

func (c *cluster) Synced() bool { return c.synced }

func amount(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse(memory)}
}

func podOn(node, name, cpu string, daemon bool) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	if daemon {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "d"}}
	}
	p.Spec.NodeName = node
	p.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{
		Requests: amount(cpu, "1Gi"), Limits: amount("2", "2Gi"),
	}}}
	return p
}

func TestNodes(t *testing.T) {
	w := newWorld(t)
	known := &cluster{observe.New(w.clock), true}
	c := &Nodes{Cluster: known, Clock: w.clock, Metrics: w.metrics}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: "n1", UID: "n1", CreationTimestamp: at(-100), ResourceVersion: "1",
		Labels: map[string]string{
			apiv1.NodePoolLabelKey: "default", corev1.LabelTopologyZone: "a", apiv1.NodeRegisteredLabelKey: "true",
			apiv1.NodeInitializedLabelKey: "true",
		},
	}}
	node.Spec.ProviderID = "aws:///a/i-1"
	node.Status.Capacity, node.Status.Allocatable = amount("4", "8Gi"), amount("3900m", "7Gi")
	known.Set(node)
	known.Set(podOn("n1", "web", "1", false))
	known.Set(podOn("n1", "agent", "500m", true))
	if result := w.run(c, "", ""); result.RequeueAfter != 5*time.Second {
		t.Errorf("comes back after %v", result.RequeueAfter)
	}
	const labels = `managed="true",node_name="n1",nodepool="default",phase="",resource_type=`
	w.expect(`
		karpenter_cluster_utilization_percent{resource_type="cpu"} 38.46153846153846
		karpenter_cluster_utilization_percent{resource_type="memory"} 28.571428571428573
		karpenter_nodes_allocatable{`+labels+`"cpu",zone="a"} 3.9
		karpenter_nodes_allocatable{`+labels+`"memory",zone="a"} 7.516192768e+09
		karpenter_nodes_allocatable{`+labels+`"pods",zone="a"} 0
		karpenter_nodes_current_lifetime_seconds{managed="true",node_name="n1",nodepool="default",phase="",zone="a"} 100
		karpenter_nodes_system_overhead{`+labels+`"cpu",zone="a"} 0.1
		karpenter_nodes_system_overhead{`+labels+`"memory",zone="a"} 1.073741824e+09
		karpenter_nodes_system_overhead{`+labels+`"pods",zone="a"} 0
		karpenter_nodes_total_daemon_limits{`+labels+`"cpu",zone="a"} 2
		karpenter_nodes_total_daemon_limits{`+labels+`"memory",zone="a"} 2.147483648e+09
		karpenter_nodes_total_daemon_limits{`+labels+`"pods",zone="a"} 1
		karpenter_nodes_total_daemon_requests{`+labels+`"cpu",zone="a"} 0.5
		karpenter_nodes_total_daemon_requests{`+labels+`"memory",zone="a"} 1.073741824e+09
		karpenter_nodes_total_daemon_requests{`+labels+`"pods",zone="a"} 1
		karpenter_nodes_total_pod_limits{`+labels+`"cpu",zone="a"} 4
		karpenter_nodes_total_pod_limits{`+labels+`"memory",zone="a"} 4.294967296e+09
		karpenter_nodes_total_pod_limits{`+labels+`"pods",zone="a"} 2
		karpenter_nodes_total_pod_requests{`+labels+`"cpu",zone="a"} 1.5
		karpenter_nodes_total_pod_requests{`+labels+`"memory",zone="a"} 2.147483648e+09
		karpenter_nodes_total_pod_requests{`+labels+`"pods",zone="a"} 2
	`, allNodes()...)

	// After the deletion of the pods and a change of the zone, no old series remains.
	known.Remove(podOn("n1", "web", "1", false))
	known.Remove(podOn("n1", "agent", "500m", true))
	node = node.DeepCopy()
	node.Labels[corev1.LabelTopologyZone], node.ResourceVersion = "b", "2"
	known.Set(node)
	w.clock.Step(5 * time.Second)
	w.run(c, "", "")
	w.expect(`
		karpenter_nodes_current_lifetime_seconds{managed="true",node_name="n1",nodepool="default",phase="",zone="b"} 105
		karpenter_nodes_total_pod_requests{`+labels+`"cpu",zone="b"} 0
		karpenter_nodes_total_pod_requests{`+labels+`"memory",zone="b"} 0
	`, "karpenter_nodes_current_lifetime_seconds", "karpenter_nodes_total_pod_requests")

	known.Remove(node)
	w.run(c, "", "")
	w.expect("", allNodes()...)
}

// Names of resources are written in lower case and with underscores.
func TestResourceTypes(t *testing.T) {
	w := newWorld(t)
	known := &cluster{observe.New(w.clock), true}
	c := &Nodes{Cluster: known, Clock: w.clock, Metrics: w.metrics}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "n1"}}
	node.Status.Allocatable = corev1.ResourceList{}
	for _, name := range []corev1.ResourceName{"ephemeral-storage", "hugepages-2Mi", "vpc.amazonaws.com/pod-eni"} {
		node.Status.Allocatable[name] = resource.MustParse("1")
	}
	node.Status.Capacity = node.Status.Allocatable
	known.Set(node)
	w.run(c, "", "")
	const labels = `karpenter_nodes_allocatable{managed="false",node_name="n1",nodepool="",phase="",resource_type=`
	w.expect(`
		karpenter_cluster_utilization_percent{resource_type="ephemeral_storage"} 0
		karpenter_cluster_utilization_percent{resource_type="hugepages_2mi"} 0
		karpenter_cluster_utilization_percent{resource_type="vpc.amazonaws.com/pod_eni"} 0
		`+labels+`"ephemeral_storage",zone=""} 1
		`+labels+`"hugepages_2mi",zone=""} 1
		`+labels+`"vpc.amazonaws.com/pod_eni",zone=""} 1
	`, "karpenter_nodes_allocatable", "karpenter_cluster_utilization_percent")
}

// allNodes returns the names of all metrics of the controller.
func allNodes() []string {
	return []string{
		"karpenter_nodes_allocatable", "karpenter_nodes_total_pod_requests", "karpenter_nodes_total_pod_limits",
		"karpenter_nodes_total_daemon_requests", "karpenter_nodes_total_daemon_limits", "karpenter_nodes_system_overhead",
		"karpenter_nodes_current_lifetime_seconds", "karpenter_cluster_utilization_percent",
	}
}

func TestNodePools(t *testing.T) {
	pool := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	pool.Spec.Limits = apiv1.Limits{"cpu": resource.MustParse("1500m")}
	pool.Status.Resources = corev1.ResourceList{"cpu": resource.MustParse("1"), "nodes": resource.MustParse("2")}
	w := newWorld(t, pool)
	c := &NodePools{Client: w, Metrics: w.metrics.NodePools}
	w.run(c, "", "default")
	const limit, usage = "karpenter_nodepools_limit", "karpenter_nodepools_usage"
	w.expect(limit+`{nodepool="default",resource_type="cpu"} 1.5
		`+usage+`{nodepool="default",resource_type="cpu"} 1
		`+usage+`{nodepool="default",resource_type="nodes"} 2`, limit, usage)

	pool.Spec.Limits = nil
	w.must(w.Update(t.Context(), pool))
	w.run(c, "", "default")
	w.expect("", limit)
	w.must(w.Delete(t.Context(), pool))
	w.run(c, "", "default")
	w.expect("", limit, usage)
}
