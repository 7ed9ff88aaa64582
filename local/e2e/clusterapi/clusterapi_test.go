package clusterapi

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterapiv1alpha1 "github.com/karpenter-go/karpenter/api/clusterapi/v1alpha1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/local/clusterapi"
	"github.com/karpenter-go/karpenter/local/e2e/machines"
)

// Pods get Machines of the cheapest templates. Cluster API connects their nodes, and the MachineDeployments do not change. With
// fewer pods, Machines are deleted, and without pods all of them.
func TestScaleUpAndDown(t *testing.T) {
	t.Parallel()
	s := newScene(t, "updown")
	s.Deploy(10, "3")
	s.AwaitRunning(10)
	claims := s.AwaitSettled(1)
	if got := machines.Types(claims); got["large"] != 1 {
		t.Errorf("types are %v, want one large node, which costs less than ten small ones", got)
	}
	claim := claims[0]
	node := &corev1.Node{}
	if err := place.Get(t.Context(), client.ObjectKey{Name: claim.Status.NodeName}, node); err != nil {
		t.Fatal(err)
	}
	zone := node.Labels[corev1.LabelTopologyZone]
	for key, want := range map[string]string{
		"scene": "updown", "node.cluster.x-k8s.io/size": "large", corev1.LabelInstanceTypeStable: "updown-large",
		apiv1.CapacityTypeLabelKey: "on-demand", clusterapiv1alpha1.InstanceCPULabelKey: "32",
	} {
		if node.Labels[key] != want {
			t.Errorf("label %s of the node is %q, want %q", key, node.Labels[key], want)
		}
	}
	if len(node.Spec.Taints) > 0 || !strings.HasPrefix(zone, "zone-") || node.Spec.ProviderID != claim.Status.ProviderID {
		t.Errorf("node has taints %v, zone %q, provider id %s", node.Spec.Taints, zone, node.Spec.ProviderID)
	}
	var sets unstructured.UnstructuredList
	sets.SetGroupVersionKind(machines.SetKind)
	if err := place.List(t.Context(), &sets); err != nil {
		t.Fatal(err)
	}
	made := 0
	for i := range sets.Items {
		if strings.HasPrefix(sets.Items[i].GetName(), s.Name+"-") {
			made++
		}
	}
	if made != len(sizes) {
		t.Errorf("Cluster API has made %d MachineSets, want one for each MachineDeployment", made)
	}
	for size := range sizes {
		u := s.Object(machines.DeploymentKind, s.Template(size), nil)
		if err := place.Get(t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
			t.Fatal(err)
		}
		spec, _, _ := unstructured.NestedInt64(u.Object, "spec", "replicas")
		status, _, _ := unstructured.NestedInt64(u.Object, "status", "replicas")
		if spec != 0 || status != 0 {
			t.Errorf("MachineDeployment %s wants %d and has %d Machines, want 0", u.GetName(), spec, status)
		}
	}
	s.Scale(1)
	s.AwaitRunning(1)
	s.Poll(func(ctx context.Context) string {
		got := machines.Types(s.Claims(ctx, s.Name))
		return machines.Missing(len(got) == 1 && got["small"] == 1, "types after the scale-in are %v, want one small", got)
	})
	s.Scale(0)
	s.AwaitGone()
}

// If one template has no capacity, pods get nodes of another one. The Machine without capacity is deleted.
func TestShortage(t *testing.T) {
	t.Parallel()
	s := newScene(t, "shortage")
	s.Order(map[string]string{clusterapi.Exhausted: "shortage-small/*"})
	s.Deploy(1, "3")
	s.AwaitRunning(1)
	if got := machines.Types(s.AwaitSettled(1)); got["medium"] != 1 {
		t.Errorf("types are %v, want one medium node", got)
	}
}

// A mistake in a template is reported on the claim. After it is corrected, the same Machine becomes a node.
func TestFailingInfrastructure(t *testing.T) {
	t.Parallel()
	s := newScene(t, "failing")
	s.Order(map[string]string{clusterapi.Failing: "failing-*/*"})
	s.Deploy(1, "3")
	s.Poll(func(ctx context.Context) string {
		var events corev1.EventList
		if err := place.List(ctx, &events, client.InNamespace("default"), client.MatchingFields{"reason": "LaunchDelayed"}); err != nil {
			return err.Error()
		}
		for i := range events.Items {
			if strings.Contains(events.Items[i].Message, "InvalidImage: The image does not exist") {
				return ""
			}
		}
		return "no event on a claim says that the image does not exist"
	})
	s.Order(nil)
	s.AwaitRunning(1)
	s.AwaitSettled(1)
}

// If the template has another version or another infrastructure template, its nodes are replaced. They are not replaced if only
// the name of the infrastructure template changes and not its contents.
func TestDrift(t *testing.T) {
	t.Parallel()
	s := newScene(t, "drift")
	s.Deploy(2, "2")
	s.AwaitRunning(2)
	before := s.AwaitSettled(1)[0].Name
	size := machines.Types(s.Claims(t.Context(), s.Name))
	name := "small"
	if size[name] != 1 {
		t.Fatalf("types are %v, want one small", size)
	}
	s.Change(machines.DeploymentKind, s.Template(name), `{"spec":{"template":{"spec":{"version":"v1.36.4"}}}}`)
	s.Poll(func(ctx context.Context) string {
		claims := s.Claims(ctx, s.Name)
		return machines.Missing(len(claims) == 1 && claims[0].Name != before, "claim %s is not replaced", before)
	})
	s.AwaitRunning(2)
	before = s.AwaitSettled(1)[0].Name
	s.Put(place, s.Infrastructure("drift-other", 5))
	t.Cleanup(func() {
		_ = place.Delete(context.WithoutCancel(t.Context()), s.Object(machines.TemplateKind, "drift-other", nil))
	})
	s.Change(machines.DeploymentKind, s.Template(name), `{"spec":{"template":{"spec":{"infrastructureRef":{"name":"drift-other"}}}}}`)
	s.Poll(func(ctx context.Context) string {
		claims := s.Claims(ctx, s.Name)
		return machines.Missing(len(claims) == 1 && claims[0].Name != before, "claim %s is not replaced", before)
	})
	s.AwaitRunning(2)
	s.AwaitSettled(1)
}

// Before a Machine that a user deletes ends, Karpenter drains its node. A PodDisruptionBudget can delay the drain.
func TestDeletedMachineIsDrained(t *testing.T) {
	t.Parallel()
	s := newScene(t, "deleted")
	s.Deploy(1, "3")
	s.AwaitRunning(1)
	claim := s.AwaitSettled(1)[0]
	one := intstr.FromInt32(1) // which is the only pod, so that nothing may be evicted now
	pdb := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: s.Name}}
	pdb.Spec.MinAvailable = &one
	pdb.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": s.Name}}
	s.Put(place, pdb)
	machine := s.Objects(t.Context(), machines.MachineKind)[0]
	if err := place.Delete(t.Context(), &machine); err != nil {
		t.Fatal(err)
	}
	s.Poll(func(ctx context.Context) string {
		var now apiv1.NodeClaim
		if err := place.Get(ctx, client.ObjectKey{Name: claim.Name}, &now); err != nil {
			return err.Error()
		}
		return machines.Missing(now.DeletionTimestamp != nil, "claim %s is not deleted with its Machine", claim.Name)
	})
	s.Poll(func(ctx context.Context) string { // the replacement exists, and the old machine waits
		return machines.Missing(len(s.Objects(ctx, machines.HollowKind)) == 2, "%d hollow machines, want the held one and its replacement", len(s.Objects(ctx, machines.HollowKind)))
	})
	if err := place.Delete(t.Context(), pdb); err != nil {
		t.Fatal(err)
	}
	s.AwaitDeleted(&apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: claim.Name}})
	s.AwaitRunning(1)
	s.AwaitSettled(1)
}

// Machines that the infrastructure reclaims are replaced by Machines of other offerings.
func TestInterruption(t *testing.T) {
	t.Parallel()
	s := newScene(t, "interrupted")
	s.Deploy(1, "3")
	s.AwaitRunning(1)
	claim := s.AwaitSettled(1)[0]
	s.Order(map[string]string{clusterapi.Interrupted: "interrupted-small/" + claim.Labels[corev1.LabelTopologyZone]})
	s.AwaitDeleted(&apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: claim.Name}})
	s.AwaitRunning(1)
	again := s.AwaitSettled(1)[0]
	if again.Labels[corev1.LabelTopologyZone] == claim.Labels[corev1.LabelTopologyZone] {
		t.Errorf("the replacement is in %s as well", claim.Labels[corev1.LabelTopologyZone])
	}
}

// A Machine whose infrastructure object is removed is replaced.
func TestInfrastructureRemoved(t *testing.T) {
	t.Parallel()
	s := newScene(t, "removed")
	s.Deploy(1, "3")
	s.AwaitRunning(1)
	claim := s.AwaitSettled(1)[0]
	infra := s.Objects(t.Context(), machines.HollowKind)[0]
	if err := place.Delete(t.Context(), &infra); err != nil {
		t.Fatal(err)
	}
	s.AwaitDeleted(&apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: claim.Name}})
	s.AwaitRunning(1)
	s.AwaitSettled(1)
}

// At whichever moment of a launch the controller is killed, each claim has one Machine in the end, and there are no other
// Machines.
func TestKill(t *testing.T) {
	s := newScene(t, "kill")
	s.Order(map[string]string{clusterapi.Hung: "kill-*/*"})
	s.Deploy(12, "6")
	for _, moment := range []struct {
		name string
		of   func(ctx context.Context) int
	}{
		{"claims", func(ctx context.Context) int { return len(s.Claims(ctx, s.Name)) }},
		{"configs", func(ctx context.Context) int { return len(s.Objects(ctx, machines.ConfigKind)) }},
		{"machines", func(ctx context.Context) int { return len(s.Objects(ctx, machines.MachineKind)) }},
	} {
		s.Poll(func(ctx context.Context) string {
			return machines.Missing(moment.of(ctx) > 0, "no %s yet", moment.name)
		})
		restart(s)
	}
	s.Order(nil)
	s.Poll(func(ctx context.Context) string {
		return machines.Missing(len(s.Objects(ctx, machines.MachineKind)) > 0, "no machine has come")
	})
	restart(s)
	s.AwaitRunning(12)
	s.AwaitSettled(len(s.Claims(t.Context(), s.Name)))
}

// restart kills the controller and starts it again.
func restart(s *machines.Scene) {
	s.T.Helper()
	s.Stop()
	s.Start()
}

// A Machine whose claim was deleted together with its finalizer is deleted. So are copies of templates without a Machine.
func TestMachineWithoutClaim(t *testing.T) {
	s := newScene(t, "orphan")
	s.Deploy(1, "3")
	s.AwaitRunning(1)
	claim := s.AwaitSettled(1)[0]
	s.Scale(0)
	restart(s) // so that the controller does not delete the claim as usual
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	_ = place.Delete(t.Context(), &claim)
	if err := client.IgnoreNotFound(place.Patch(t.Context(), &claim, patch)); err != nil {
		t.Fatal(err)
	}
	s.AwaitGone()
}

// With a kubeconfig of its own, the controller uses its credentials for the management cluster.
func TestManagementKubeconfig(t *testing.T) {
	long(t)
	s := newScene(t, "management")
	t.Cleanup(func() { restart(s) }) // without the variable, which is unset before
	t.Setenv("MANAGEMENT_KUBECONFIG", place.Cluster.Dir().KubeconfigOf("clusterapi"))
	restart(s)
	s.Deploy(1, "3")
	s.AwaitRunning(1)
	s.AwaitSettled(1)
	s.Scale(0)
	s.AwaitGone()
}
