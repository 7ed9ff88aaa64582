package management

import (
	"context"
	"fmt"
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

// A claim whose Machine does not exist is deleted, and its pods get another node. The Machine was removed with its finalizers
// while the controller did not run.
func TestClaimWithoutMachine(t *testing.T) {
	s := newScene(t, "vanished")
	s.deploy(1, "3")
	s.awaitRunning(1)
	claim := s.awaitSettled("small")[0]
	s.stop()
	for _, kind := range []schema.GroupVersionKind{machineKind, hollowKind, configKind} {
		for _, u := range s.objects(t.Context(), kind) {
			remove(t, manager, &u)
		}
	}
	// Without its machine, the node sends no heartbeats. The claim of a node that is Ready would stay.
	node := &corev1.Node{}
	node.Name = claim.Status.NodeName
	silence := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"kwok.x-k8s.io/node":null}}}`))
	if err := workload.Patch(t.Context(), node, silence); err != nil {
		t.Fatal(err)
	}
	s.start()
	workload.Poll(t, func(ctx context.Context) string {
		err := workload.Get(ctx, client.ObjectKey{Name: claim.Name}, &apiv1.NodeClaim{})
		return missing(err != nil && client.IgnoreNotFound(err) == nil, "claim %s is not gone (%v)", claim.Name, err)
	})
	s.awaitRunning(1)
	s.awaitSettled("small")
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

const other = `
apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata: {name: other}
`

// While the management cluster does not answer, its nodes and their pods stay. After a minute its NodePool says why it gets no
// nodes, and pods go to another provider's NodePool. That also holds for a controller that starts meanwhile. When the management
// cluster answers again, nothing is left to be done by hand.
func TestManagementClusterIsGone(t *testing.T) {
	s := newScene(t, "outage")
	s.deploy(1, "3")
	s.awaitRunning(1)
	claim := s.awaitSettled("small")[0]
	if out, err := workload.Local(t, other, "kubectl", "apply", "-f", "-"); err != nil {
		t.Fatal(out)
	}
	// Without the weight, the cheaper types of the simulated nodes would be used at once.
	class := &apiv1.NodePool{}
	if err := workload.Get(t.Context(), client.ObjectKey{Name: s.name}, class); err != nil {
		t.Fatal(err)
	}
	weight := int32(10)
	class.Spec.Weight = &weight
	class.Spec.Disruption.ConsolidationPolicy, class.Spec.Disruption.ConsolidateAfter.Duration = apiv1.ConsolidationPolicyWhenEmpty, nil
	if err := workload.Update(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	pool := s.pool("other", apiv1.NodeClassReference{Group: "karpenter.kwok.sh", Kind: "KWOKNodeClass", Name: "other"})
	s.put(workload, pool)
	t.Cleanup(func() {
		s.scale(0)
		if err := workload.Delete(context.WithoutCancel(t.Context()), pool); err != nil {
			t.Error(err)
		}
		workload.Poll(t, func(ctx context.Context) string {
			return missing(len(s.claims(ctx, "other")) == 0, "%d claims of the other NodePool are left", len(s.claims(ctx, "other")))
		})
	})
	s.awaitPool("other", true)

	up := func() {
		if err := manager.Cluster.Up(context.WithoutCancel(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	if err := manager.Cluster.Kill(t.Context(), "kube-apiserver"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(up)
	gone := s.awaitPool(s.name, false)
	if text := fmt.Sprintf("%+v", gone.Status.Conditions); !strings.Contains(text, clusterapiv1alpha1.ReasonNotReachable) {
		t.Errorf("the conditions of the NodePool do not say that the management cluster is not reachable: %s", text)
	}
	s.scale(12)
	s.awaitRunning(12)
	if len(s.claims(t.Context(), "other")) == 0 {
		t.Error("pods run, but the other NodePool has no claims")
	}
	s.stop()
	s.start()
	s.scale(30)
	s.awaitRunning(30)
	var now apiv1.NodeClaim
	if err := workload.Get(t.Context(), client.ObjectKey{Name: claim.Name}, &now); err != nil || now.DeletionTimestamp != nil {
		t.Errorf("the claim of the Machine did not survive the outage: %v", err)
	}

	up()
	s.awaitPool(s.name, true)
	before := len(s.claims(t.Context(), "other"))
	s.scale(60)
	s.awaitRunning(60)
	if after := len(s.claims(t.Context(), "other")); after > before {
		t.Errorf("the other NodePool has %d claims instead of %d, although that of Cluster API has the higher weight", after, before)
	}
	if len(s.claims(t.Context(), s.name)) < 2 {
		t.Error("there are no new Machines after the outage")
	}
}
