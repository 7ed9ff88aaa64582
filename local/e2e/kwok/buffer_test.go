package kwok

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	autoscalingv1beta1 "github.com/karpenter-go/karpenter/api/autoscaling/v1beta1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// quick lets empty nodes go at once.
func quick(p *apiv1.NodePool) {
	p.Spec.Disruption.ConsolidateAfter = apiv1.MustParseNillableDuration("0s")
	p.Spec.Disruption.Budgets = []apiv1.Budget{{Nodes: "100%"}}
}

func (c *corner) buffer(name string, spec autoscalingv1beta1.CapacityBufferSpec) *autoscalingv1beta1.CapacityBuffer {
	c.t.Helper()
	b := &autoscalingv1beta1.CapacityBuffer{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.name}, Spec: spec}
	c.put(b)
	return b
}

// awaitBuffer returns when the buffer's condition Provisioning has the reason, and room for so many pods is asked for.
func (c *corner) awaitBuffer(b *autoscalingv1beta1.CapacityBuffer, reason string, replicas int32) {
	c.t.Helper()
	c.poll(func() string {
		if err := c.Get(c.t.Context(), clientKey(b), b); err != nil {
			c.t.Fatal(err)
		}
		got := meta.FindStatusCondition(b.Status.Conditions, autoscalingv1beta1.ConditionTypeProvisioning)
		return missing(got != nil && got.Reason == reason && ptr.Deref(b.Status.Replicas, -1) == replicas,
			"buffer %s says %+v for %v pods, want %s for %d", b.Name, got, ptr.Deref(b.Status.Replicas, -1), reason, replicas)
	})
}

// Room is made before pods come, taken at once when they do, made anew, kept from emptiness, and given up with the buffer.
func TestBufferOfPodTemplate(t *testing.T) {
	t.Parallel()
	c := newCorner(t, "buffer")
	c.pool(quick, func(p *apiv1.NodePool) {
		p.Spec.Template.Spec.Requirements = append(p.Spec.Template.Spec.Requirements, in(corev1.LabelInstanceTypeStable, "c-2x-amd64-linux"))
	})
	template := &corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{Name: "room", Namespace: c.name}}
	template.Template.Spec = c.podSpec("1500m")
	c.put(template)
	b := c.buffer("b", autoscalingv1beta1.CapacityBufferSpec{
		PodTemplateRef: &autoscalingv1beta1.LocalObjectRef{Name: "room"}, Replicas: ptr.To(int32(2)),
	})
	first := c.awaitNodes(2)
	c.awaitBuffer(b, autoscalingv1beta1.ReasonFitsExistingCapacity, 2)
	c.holds(5*time.Second, func() string {
		for _, n := range c.nodes() {
			for _, taint := range n.Spec.Taints {
				if taint.Key == apiv1.DisruptedTaintKey {
					return fmt.Sprintf("node %s, which holds the room, is to go", n.Name)
				}
			}
		}
		return missing(len(c.nodes()) == 2, "%d nodes", len(c.nodes()))
	})
	c.deploy("web", 1, "1500m")
	pod := c.awaitRunning("web", 1)[0]
	if pod.Spec.NodeName != first[0].Name && pod.Spec.NodeName != first[1].Name {
		t.Errorf("the pod runs on %s instead of where there was room", pod.Spec.NodeName)
	}
	c.awaitNodes(3)
	c.awaitBuffer(b, autoscalingv1beta1.ReasonFitsExistingCapacity, 2)
	if err := c.Delete(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	c.awaitNodes(1)
}

// Room for a part of a deployment grows with it, also when the deployment comes after the buffer, and limits bound it.
func TestBufferOfDeployment(t *testing.T) {
	t.Parallel()
	c := newCorner(t, "buffer-scale")
	c.pool(quick)
	b := c.buffer("b", autoscalingv1beta1.CapacityBufferSpec{
		ScalableRef: &autoscalingv1beta1.ScalableRef{APIGroup: "apps", Kind: "Deployment", Name: "web"},
		Percentage:  ptr.To(int32(50)),
		Limits:      &corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")},
	})
	c.poll(func() string {
		if err := c.Get(t.Context(), clientKey(b), b); err != nil {
			t.Fatal(err)
		}
		got := meta.FindStatusCondition(b.Status.Conditions, autoscalingv1beta1.ConditionTypeReadyForProvisioning)
		return missing(got != nil && got.Reason == autoscalingv1beta1.ReasonScalableRefNotFound, "buffer says %+v", got)
	})
	d := c.deploy("web", 2, "1")
	c.awaitRunning("web", 2)
	c.awaitBuffer(b, autoscalingv1beta1.ReasonFitsExistingCapacity, 1)
	c.scale(d, 4)
	c.awaitRunning("web", 4)
	c.awaitBuffer(b, autoscalingv1beta1.ReasonFitsExistingCapacity, 2)
	c.scale(d, 10)
	c.awaitRunning("web", 10)
	c.awaitBuffer(b, autoscalingv1beta1.ReasonFitsExistingCapacity, 3)
}
