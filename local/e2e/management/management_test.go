package management

import (
	"context"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterapiv1alpha1 "github.com/karpenter-go/karpenter/api/clusterapi/v1alpha1"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/local/e2e/machines"
)

// Machines are created in the management cluster, and their nodes join the workload cluster. With fewer pods, a cheaper Machine
// replaces them. Without pods, both clusters are empty.
func TestScaleUpAndDown(t *testing.T) {
	t.Parallel()
	s := newScene(t, "updown")
	s.Deploy(10, "3")
	s.AwaitRunning(10)
	claim := s.AwaitSizes("large")[0]
	var above corev1.NodeList
	if err := manager.List(t.Context(), &above); err != nil || len(above.Items) > 0 {
		t.Errorf("the management cluster has %d nodes, want none (%v)", len(above.Items), err)
	}
	machine := s.Objects(t.Context(), machines.MachineKind)[0]
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
	s.Scale(1)
	s.AwaitRunning(1)
	s.AwaitSizes("small")
	s.Scale(0)
	s.AwaitGone()
}

// A Machine whose claim does not exist is deleted, with the copies of its templates. The claim was removed with its finalizer
// while the controller did not run.
func TestMachineWithoutClaim(t *testing.T) {
	s := newScene(t, "orphan")
	s.Deploy(1, "3")
	s.AwaitRunning(1)
	claim := s.AwaitSizes("small")[0]
	s.Stop()
	s.Scale(0)
	s.Remove(workload, &claim)
	s.Start()
	s.AwaitGone()
}

// A claim whose Machine does not exist is deleted, and its pods get another node. The Machine was removed with its finalizers
// while the controller did not run. That takes up to four minutes: the Machine must be missing two minutes after the launch, and
// claims are compared with Machines every two minutes.
func TestClaimWithoutMachine(t *testing.T) {
	if os.Getenv("KARPENTER_LONG") == "" {
		t.Skip("takes minutes: set KARPENTER_LONG=1")
	}
	s := newScene(t, "vanished")
	s.Deploy(1, "3")
	s.AwaitRunning(1)
	claim := s.AwaitSizes("small")[0]
	s.Stop()
	for _, kind := range []schema.GroupVersionKind{machines.MachineKind, machines.HollowKind, machines.ConfigKind} {
		for _, u := range s.Objects(t.Context(), kind) {
			s.Remove(manager, &u)
		}
	}
	// Without its machine, the node is not ready. The claim of a node that is ready would stay.
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: claim.Status.NodeName}}
	patch := client.RawPatch(types.StrategicMergePatchType, []byte(`{"status":{"conditions":[{"type":"Ready","status":"False","reason":"KubeletStopped"}]}}`))
	if err := workload.Status().Patch(t.Context(), node, patch); err != nil {
		t.Fatal(err)
	}
	s.Start()
	s.AwaitDeleted(&apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: claim.Name}})
	s.AwaitRunning(1)
	s.AwaitSizes("small")
}

// The controller is killed after it has recorded its choice on the claim, and before any object exists. The next one creates one
// Machine from the recorded template.
func TestKilledBetweenRecordAndCreate(t *testing.T) {
	s := newScene(t, "record")
	t.Cleanup(func() { allow(s, machines.ConfigKind.Group, "create", "delete") })
	allow(s, machines.ConfigKind.Group, "delete")
	s.Deploy(1, "3")
	var recorded string
	workload.Poll(t, func(ctx context.Context) string {
		for _, c := range s.Claims(ctx, s.Name) {
			launched := condition.Get(&c, apiv1.ConditionTypeLaunched)
			recorded = c.Annotations[clusterapiv1alpha1.LaunchAnnotationKey]
			if recorded != "" && launched != nil && strings.Contains(launched.Message, "forbidden") {
				return ""
			}
		}
		return "no claim has a record and says that the config must not be created"
	})
	s.Stop()
	for _, kind := range []schema.GroupVersionKind{machines.MachineKind, machines.HollowKind, machines.ConfigKind} {
		if all := s.Objects(t.Context(), kind); len(all) > 0 {
			t.Fatalf("%d objects of kind %s exist before the crash", len(all), kind.Kind)
		}
	}
	allow(s, machines.ConfigKind.Group, "create", "delete")
	s.Start()
	s.AwaitRunning(1)
	claim := s.AwaitSizes("small")[0]
	if got := claim.Annotations[clusterapiv1alpha1.LaunchAnnotationKey]; got != recorded {
		t.Errorf("the launch was recorded as %s, and is %s now", recorded, got)
	}
}
