package kwok

import (
	"fmt"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/condition"
	kwokv1alpha1 "github.com/karpenter-go/karpenter/api/kwok/v1alpha1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// A user may create a claim. It needs no pool, its node meets its spec, and the node is deleted with it.
func TestStandaloneClaim(t *testing.T) {
	t.Parallel()
	c := newCorner(t, "standalone")
	claim := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: "standalone", Labels: map[string]string{cornerKey: c.name, "team": "blue"},
		Annotations: map[string]string{"example.com/owner": "us"},
	}}
	claim.Spec.NodeClassRef = classRef("default")
	claim.Spec.Requirements = needs{
		in("karpenter.kwok.sh/instance-family", "m"), in(apiv1.CapacityTypeLabelKey, "on-demand"), in(corev1.LabelOSStable, "linux"),
	}
	claim.Spec.Taints = []corev1.Taint{{Key: "example.com/mine", Effect: corev1.TaintEffectNoSchedule}}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")}
	c.put(claim)
	n := c.awaitNodes(1)[0]
	if n.Labels[corev1.LabelInstanceTypeStable] != "m-4x-amd64-linux" || n.Labels["team"] != "blue" ||
		n.Annotations["example.com/owner"] != "us" || n.Labels[apiv1.NodePoolLabelKey] != "" ||
		len(n.Finalizers) != 1 || !strings.Contains(fmt.Sprint(n.Spec.Taints), "example.com/mine") {
		t.Errorf("node is %+v", n.ObjectMeta)
	}
	if err := c.Delete(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	c.awaitNodes(0)
	lost := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "standalone-lost", Labels: map[string]string{cornerKey: c.name}}}
	lost.Spec.NodeClassRef = classRef("no-such-class")
	lost.Spec.Requirements = claim.Spec.Requirements
	c.put(lost)
	c.poll(func() string { return missing(len(c.claims()) == 0, "a claim without a class is still there") })
}

// byHand creates a claim without a pool.
func (c *corner) byHand(change func(*apiv1.NodeClaim)) *apiv1.NodeClaim {
	c.t.Helper()
	claim := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: c.name, Labels: map[string]string{cornerKey: c.name}}}
	claim.Spec.NodeClassRef = classRef("default")
	claim.Spec.Requirements = needs{in(corev1.LabelOSStable, "linux"), in(corev1.LabelInstanceTypeStable, "c-2x-amd64-linux", "s-2x-amd64-linux")}
	change(claim)
	c.put(claim)
	return claim
}

// The node of a claim that a user created is drained when the claim is deleted, and its instance is terminated.
func TestStandaloneClaimDrains(t *testing.T) {
	t.Parallel()
	c := newCorner(t, "by-hand")
	claim := c.byHand(func(claim *apiv1.NodeClaim) {
		claim.Spec.StartupTaints = []corev1.Taint{{Key: "example.com/cni", Effect: corev1.TaintEffectNoSchedule}}
		claim.Spec.ExpireAfter = apiv1.MustParseNillableDuration("Never")
	})
	var n corev1.Node
	c.poll(func() string {
		nodes := c.nodes()
		if len(nodes) == 1 {
			n = nodes[0]
		}
		return missing(len(nodes) == 1 && strings.Contains(fmt.Sprint(n.Spec.Taints), "example.com/cni") && len(n.Finalizers) == 1, "nodes are %v", nodes)
	})
	if n.Labels[corev1.LabelInstanceTypeStable] != "c-2x-amd64-linux" {
		t.Errorf("node is a %s, want the cheaper of the two", n.Labels[corev1.LabelInstanceTypeStable])
	}
	c.change(&n, func() { n.Spec.Taints = nil })
	c.awaitNodes(1)
	c.alone("web", hold)
	t.Cleanup(func() { c.release("") })
	c.awaitRunning("web", 1)
	if err := c.Delete(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	c.poll(func() string { return missing(c.leaving(n.Name) == "web", "the pod is not told to go") })
	if err := c.Get(t.Context(), clientKey(claim), claim); err != nil || len(claim.Finalizers) != 1 {
		t.Errorf("the claim is %v, %v while its node drains", claim.Finalizers, err)
	}
	c.release("web")
	c.awaitNodes(0)
	c.poll(func() string { return missing(len(c.claims()) == 0, "the claim is still there") })
}

// For a node class that is not ready, nothing is launched, and the claim is deleted.
func TestClaimOfClassThatIsNotReady(t *testing.T) {
	t.Parallel()
	c := newCorner(t, "unready")
	class := &kwokv1alpha1.KWOKNodeClass{ObjectMeta: metav1.ObjectMeta{Name: c.name}}
	c.put(class)
	if err := c.Get(t.Context(), clientKey(class), class); err != nil {
		t.Fatal(err)
	}
	class.Status.Conditions = []metav1.Condition{{
		Type: "Ready", Status: metav1.ConditionFalse, Reason: "Broken", Message: "for a test", LastTransitionTime: metav1.Now(),
	}}
	if err := c.Status().Update(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	// The NodePool tells when the controller's cache holds the condition: a claim that arrives before it is launched.
	pool := c.pool(func(p *apiv1.NodePool) { p.Spec.Template.Spec.NodeClassRef = classRef(c.name) })
	c.poll(func() string {
		if err := c.Get(t.Context(), clientKey(pool), pool); err != nil {
			t.Fatal(err)
		}
		ready := condition.Get(pool, apiv1.ConditionTypeNodeClassReady)
		return missing(ready != nil && ready.Status == metav1.ConditionFalse && strings.Contains(ready.Message, "for a test"),
			"the NodePool says of its class: %v", ready)
	})
	c.byHand(func(claim *apiv1.NodeClaim) { claim.Spec.NodeClassRef = classRef(c.name) })
	c.poll(func() string { return missing(len(c.claims()) == 0, "the claim is still there") })
	if n := len(c.nodes()); n > 0 {
		t.Errorf("%d nodes of a class that is not ready", n)
	}
}

// When an instance is deleted outside Karpenter, garbage collection deletes its claim, and the pods get another node. It runs
// every two minutes.
func TestInstanceThatVanishes(t *testing.T) {
	if os.Getenv("KARPENTER_LONG") == "" {
		t.Skip("takes minutes: set KARPENTER_LONG=1")
	}
	t.Parallel()
	c := newCorner(t, "vanishes")
	c.pool()
	c.deploy("web", 1, "1")
	c.awaitRunning("web", 1)
	n := c.awaitNodes(1)[0]
	c.change(&n, func() { n.Finalizers = nil })
	if err := c.Delete(t.Context(), &n, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	c.pollFor(2*patience, func() string {
		for _, claim := range c.claims() {
			if claim.Name == n.Name {
				return "claim " + claim.Name + " is still there"
			}
		}
		return ""
	})
	c.awaitRunning("web", 1)
	c.awaitNodes(1)
}
