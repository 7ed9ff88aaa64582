package nodepool

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

func resources(cpu, memory, gpu string) corev1.ResourceList {
	l := corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse(memory)}
	if gpu != "" {
		l["nvidia.com/gpu"] = resource.MustParse(gpu)
	}
	return l
}

func launched(id string, capacity corev1.ResourceList) func(*apiv1.NodeClaim) {
	return func(c *apiv1.NodeClaim) { c.Status.ProviderID, c.Status.Capacity = id, capacity }
}

func TestCounter(t *testing.T) {
	initialized := map[string]string{apiv1.NodeInitializedLabelKey: "true"}
	w := newWorld(t, aPool(),
		// This instance has not joined.
		aClaim("launching", launched("1", resources("4", "8Gi", ""))),
		// This node has joined, but its device plugin has not started. The GPU is taken from the claim, the rest from the node.
		aClaim("joining", launched("2", resources("4", "8Gi", "1"))),
		aNode("joining", "2", resources("4", "7Gi", "0"), nil),
		// This node is initialized, so only its own capacity counts.
		aClaim("ready", launched("3", resources("4", "8Gi", "1"))),
		aNode("ready", "3", resources("4", "7Gi", ""), initialized),
		// This node has no claim.
		aNode("orphan", "4", resources("2", "1Gi", ""), initialized),
		// This node is being rebooted, so it stays.
		aClaim("rebooting", launched("8", resources("1", "1Gi", "")), func(c *apiv1.NodeClaim) {
			c.Status.Conditions = []metav1.Condition{
				{Type: apiv1.ConditionTypeDisruptionReason, Status: "True"}, {Type: apiv1.ConditionTypeRebooting, Status: "True"},
			}
		}),
		// None of these counts.
		aClaim("wish", launched("", resources("99", "99Gi", ""))),
		aClaim("ending", launched("5", resources("99", "99Gi", "")), func(c *apiv1.NodeClaim) {
			c.Status.Conditions = []metav1.Condition{{Type: apiv1.ConditionTypeInstanceTerminating, Status: "True"}}
		}),
		aNode("ending", "5", resources("99", "99Gi", ""), initialized),
		aClaim("marked", launched("9", resources("99", "99Gi", "")), func(c *apiv1.NodeClaim) {
			c.Status.Conditions = []metav1.Condition{{Type: apiv1.ConditionTypeDisruptionReason, Status: "True"}}
		}),
		aNode("marked", "9", resources("99", "99Gi", ""), initialized),
		aClaim("deleted", launched("6", resources("99", "99Gi", "")), func(c *apiv1.NodeClaim) {
			c.DeletionTimestamp, c.Finalizers = &metav1.Time{Time: time.Unix(1, 0)}, []string{apiv1.TerminationFinalizer}
		}),
		aClaim("stranger", launched("7", resources("99", "99Gi", "")), func(c *apiv1.NodeClaim) {
			c.Labels[apiv1.NodePoolLabelKey] = "another"
		}),
	)
	pool, result := w.run(&Counter{Client: w, Cloud: onlyFacts{}})
	if result.RequeueAfter != 5*time.Second {
		t.Errorf("comes back after %v", result.RequeueAfter)
	}
	want := corev1.ResourceList{
		"cpu": resource.MustParse("15"), "memory": resource.MustParse("24Gi"), "nvidia.com/gpu": resource.MustParse("1"),
		"nodes": resource.MustParse("5"), "pods": {}, "ephemeral-storage": {},
	}
	if diff := cmp.Diff(want, pool.Status.Resources); diff != "" {
		t.Error(diff)
	}
	if pool.Status.Nodes != 5 {
		t.Errorf("counted %d nodes, want 5", pool.Status.Nodes)
	}
}

func TestCounterOfEmptyPool(t *testing.T) {
	w := newWorld(t, aPool())
	pool, _ := w.run(&Counter{Client: w, Cloud: onlyFacts{}})
	for _, name := range []corev1.ResourceName{"cpu", "memory", "pods", "ephemeral-storage", "nodes"} {
		if q, ok := pool.Status.Resources[name]; !ok || !q.IsZero() {
			t.Errorf("%s is %v, %v, want zero", name, q, ok)
		}
	}
}
