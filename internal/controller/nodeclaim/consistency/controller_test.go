package consistency

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/controller/internal/world"
)

func TestConsistency(t *testing.T) {
	for _, tt := range []struct {
		name        string
		cpu         string // reported by the node, of the 2 cores that were expected; empty: no node
		initialized bool
		want        string
		events      string
		requeue     time.Duration
	}{
		{"as promised", "2", true, "True ConsistentStateFound", "", 10 * time.Minute},
		{"nine tenths", "1800m", true, "True ConsistentStateFound", "", 10 * time.Minute},
		{"less", "1799m", true, "False ConsistencyCheckFailed", "Warning FailedConsistencyCheck a", 10 * time.Minute},
		{"not initialized", "1", false, "", "", 0},
		{"no node", "", true, "", "", 10 * time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := world.New(t)
			claim := world.Joined(w.Cloud, "a")
			claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
			if !tt.initialized {
				condition.SetUnknown(claim, apiv1.ConditionTypeInitialized, "NodeNotReady", "", world.Start)
			}
			w.Add(claim)
			if tt.cpu != "" {
				w.Add(nodeWith(claim, tt.cpu))
			}
			c := &Controller{Client: w.Client, Clock: w.Clock, Events: w.Events, Cloud: w.Cloud}
			result, err := c.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "a"}})
			if err != nil {
				t.Fatal(err)
			}
			if got := w.Condition("a", apiv1.ConditionTypeConsistentStateFound); got != tt.want {
				t.Errorf("condition is %q, want %q", got, tt.want)
			}
			if got := w.Events.Told(); got != tt.events {
				t.Errorf("events are %q, want %q", got, tt.events)
			}
			if result.RequeueAfter != tt.requeue {
				t.Errorf("looks again after %s, want %s", result.RequeueAfter, tt.requeue)
			}
		})
	}
}

func nodeWith(claim *apiv1.NodeClaim, cpu string) *corev1.Node {
	node := world.Node("node-a", claim.Status.ProviderID)
	node.Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	return node
}

func TestOnlyChangesOfCapacityWake(t *testing.T) {
	claim := world.Claim("a")
	if capacityChanged().Update(event.UpdateEvent{ObjectOld: nodeWith(claim, "1"), ObjectNew: nodeWith(claim, "1000m")}) {
		t.Error("the same capacity in other words wakes the claim")
	}
	if !capacityChanged().Update(event.UpdateEvent{ObjectOld: nodeWith(claim, "1"), ObjectNew: nodeWith(claim, "2")}) {
		t.Error("another capacity does not wake the claim")
	}
}
