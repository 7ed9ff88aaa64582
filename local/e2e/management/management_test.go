package management

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterapiv1alpha1 "github.com/karpenter-go/karpenter/api/clusterapi/v1alpha1"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// Machines are created in the management cluster, and their nodes join the workload cluster. With fewer pods, a cheaper Machine
// replaces them. Without pods, both clusters are empty.
func TestScaleUpAndDown(t *testing.T) {
	s := newScene(t, "updown")
	s.deploy(10, "3")
	s.awaitRunning(10)
	claim := s.awaitSettled("large")[0]
	var above corev1.NodeList
	if err := manager.List(t.Context(), &above); err != nil || len(above.Items) > 0 {
		t.Errorf("the management cluster has %d nodes, want none (%v)", len(above.Items), err)
	}
	machine := s.objects(t.Context(), machineKind)[0]
	owner := &corev1.Namespace{}
	if err := workload.Get(t.Context(), client.ObjectKey{Name: "kube-system"}, owner); err != nil {
		t.Fatal(err)
	}
	if got := machine.GetLabels()[clusterapiv1alpha1.OwnerLabelKey]; got != string(owner.UID) {
		t.Errorf("the Machine has the owner %q, want the UID of kube-system of the workload cluster", got)
	}
	if node, _, _ := unstructured.NestedString(machine.Object, "status", "nodeRef", "name"); node != claim.Status.NodeName {
		t.Errorf("Cluster API sees the node %q, the claim has %q", node, claim.Status.NodeName)
	}
	s.scale(1)
	s.awaitRunning(1)
	s.awaitSettled("small")
	s.scale(0)
	s.awaitGone()
}

// A Machine whose claim does not exist is deleted, with the copies of its templates. The claim was removed with its finalizer
// while the controller did not run.
func TestMachineWithoutClaim(t *testing.T) {
	s := newScene(t, "orphan")
	s.deploy(1, "3")
	s.awaitRunning(1)
	claim := s.awaitSettled("small")[0]
	s.stop()
	s.scale(0)
	remove(t, workload, &claim)
	s.start()
	s.awaitGone()
}

// remove deletes an object together with its finalizers.
func remove(t *testing.T, where client.Client, o client.Object) {
	t.Helper()
	if err := client.IgnoreNotFound(where.Delete(t.Context(), o)); err != nil {
		t.Fatal(err)
	}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	if err := client.IgnoreNotFound(where.Patch(t.Context(), o, patch)); err != nil {
		t.Fatal(err)
	}
}

// The controller is killed after it has recorded its choice on the claim, and before any object exists. The next one creates one
// Machine from the recorded template.
func TestKilledBetweenRecordAndCreate(t *testing.T) {
	s := newScene(t, "record")
	t.Cleanup(func() { s.allow(configKind.Group, "create", "delete") })
	s.allow(configKind.Group, "delete")
	s.deploy(1, "3")
	var recorded string
	workload.Poll(t, func(ctx context.Context) string {
		for _, c := range s.claims(ctx, s.name) {
			launched := condition.Get(&c, apiv1.ConditionTypeLaunched)
			recorded = c.Annotations[clusterapiv1alpha1.LaunchAnnotationKey]
			if recorded != "" && launched != nil && strings.Contains(launched.Message, "forbidden") {
				return ""
			}
		}
		return "no claim has a record and says that the config must not be created"
	})
	s.stop()
	for _, kind := range []schema.GroupVersionKind{machineKind, hollowKind, configKind} {
		if all := s.objects(t.Context(), kind); len(all) > 0 {
			t.Fatalf("%d objects of kind %s exist before the crash", len(all), kind.Kind)
		}
	}
	s.allow(configKind.Group, "create", "delete")
	s.start()
	s.awaitRunning(1)
	claim := s.awaitSettled("small")[0]
	if got := claim.Annotations[clusterapiv1alpha1.LaunchAnnotationKey]; got != recorded {
		t.Errorf("the launch was recorded as %s, and is %s now", recorded, got)
	}
}
