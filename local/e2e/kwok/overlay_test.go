package kwok

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	overlayv1alpha1 "github.com/karpenter-go/karpenter/api/v1alpha1"
)

func (c *corner) overlay(name string, spec overlayv1alpha1.NodeOverlaySpec, kind string) *overlayv1alpha1.NodeOverlay {
	c.t.Helper()
	one := func(key, value string) overlayv1alpha1.NodeSelectorRequirement {
		return overlayv1alpha1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}
	}
	spec.Requirements = []overlayv1alpha1.NodeSelectorRequirement{one(cornerKey, c.name), one(corev1.LabelInstanceTypeStable, kind)}
	o := &overlayv1alpha1.NodeOverlay{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{cornerKey: c.name}}, Spec: spec,
	}
	c.put(o)
	return o
}

// awaitOverlay waits until the overlay's condition ValidationSucceeded has the reason.
func (c *corner) awaitOverlay(o *overlayv1alpha1.NodeOverlay, reason string) {
	c.t.Helper()
	c.poll(func() string {
		if err := c.Get(c.t.Context(), clientKey(o), o); err != nil {
			c.t.Fatal(err)
		}
		got := condition.Get(o, overlayv1alpha1.ConditionTypeValidationSucceeded)
		return missing(got != nil && got.Reason == reason, "overlay %s says %+v, want %s", o.Name, got, reason)
	})
}

// The price of an overlay makes another type the cheapest. The resource of an overlay makes nodes feasible for pods that
// request it. Conflicts between overlays are reported.
func TestOverlays(t *testing.T) {
	t.Parallel()
	c := newCorner(t, "overlays")
	p := c.pool()
	price := "0.0001"
	cheap := c.overlay("overlay-cheap", overlayv1alpha1.NodeOverlaySpec{Price: &price}, "m-16x-amd64-linux")
	c.awaitOverlay(cheap, "ValidationSucceeded")
	c.deploy("web", 1, "1")
	c.awaitRunning("web", 1)
	n := c.awaitNodes(1)[0]
	claim := c.claims()[0]
	if n.Labels[corev1.LabelInstanceTypeStable] != "m-16x-amd64-linux" ||
		claim.Annotations[apiv1.PriceOverlayAppliedAnnotationKey] != "true" {
		t.Errorf("node is a %s; claim has %v", n.Labels[corev1.LabelInstanceTypeStable], claim.Annotations)
	}
	fuse := corev1.ResourceList{"example.com/fuse": resource.MustParse("4")}
	c.overlay("overlay-fuse", overlayv1alpha1.NodeOverlaySpec{Capacity: fuse}, "s-2x-amd64-linux")
	c.deploy("fuse", 2, "100m", func(t *corev1.PodTemplateSpec) {
		one := corev1.ResourceList{"example.com/fuse": resource.MustParse("1"), corev1.ResourceCPU: resource.MustParse("100m")}
		t.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: one, Limits: one}
	})
	for _, pod := range c.awaitRunning("fuse", 2) {
		var on corev1.Node
		if err := c.Get(t.Context(), clientKey(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: pod.Spec.NodeName}}), &on); err != nil {
			t.Fatal(err)
		}
		if got := on.Labels[corev1.LabelInstanceTypeStable]; got != "s-2x-amd64-linux" {
			t.Errorf("the pod with the device runs on a %s", got)
		}
	}
	rival := c.overlay("overlay-a-rival", overlayv1alpha1.NodeOverlaySpec{Price: &price}, "m-16x-amd64-linux")
	c.awaitOverlay(rival, overlayv1alpha1.ReasonConflict)
	if err := c.Delete(t.Context(), cheap); err != nil {
		t.Fatal(err)
	}
	c.awaitOverlay(rival, "ValidationSucceeded")
	if err := c.Get(t.Context(), clientKey(p), p); err != nil || !condition.IsTrue(p, "Ready") {
		t.Errorf("the pool is %v, %v", p.Status.Conditions, err)
	}
}
