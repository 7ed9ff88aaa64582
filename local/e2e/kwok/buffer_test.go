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

// quick makes empty nodes consolidatable at once.
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

// awaitBuffer waits until the buffer's condition Provisioning has the reason, and its status has the number of replicas.
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

// Capacity of a buffer is launched before pods exist. Pods use it at once, and it is launched again. Its node does not count as
// empty. It is removed with the buffer.
func TestBufferOfPodTemplate(t *testing.T) {
	shownBy(t, "headroom_follows_its_buffer")
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

// A buffer for a percentage of a Deployment grows with the Deployment, even if the Deployment is created after the buffer. The
// limits of the buffer bound it.
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

// small restricts a pool to nodes of two cores.
func small(p *apiv1.NodePool) {
	p.Spec.Template.Spec.Requirements = append(p.Spec.Template.Spec.Requirements, in(corev1.LabelInstanceTypeStable, "c-2x-amd64-linux"))
}

// room creates a buffer for the given number of pods of its own template.
func (c *corner) room(name string, replicas int32, cpu string, change ...func(*corev1.PodTemplateSpec)) (*autoscalingv1beta1.CapacityBuffer, *corev1.PodTemplate) {
	c.t.Helper()
	template := &corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.name}}
	template.Template.Labels = map[string]string{"app": name}
	template.Template.Spec = c.podSpec(cpu)
	for _, do := range change {
		do(&template.Template)
	}
	c.put(template)
	return c.buffer(name, autoscalingv1beta1.CapacityBufferSpec{
		PodTemplateRef: &autoscalingv1beta1.LocalObjectRef{Name: name}, Replicas: &replicas,
	}), template
}

// The capacity of a buffer follows changes of its template and of its number of replicas.
func TestBufferChanges(t *testing.T) {
	shownBy(t, "headroom_follows_its_buffer")
	t.Parallel()
	c := newCorner(t, "buffer-changes")
	c.pool(quick, small)
	b, template := c.room("room", 2, "500m")
	c.awaitNodes(1)
	c.awaitBuffer(b, autoscalingv1beta1.ReasonFitsExistingCapacity, 2)
	c.change(template, func() { template.Template.Spec = c.podSpec("1500m") })
	c.awaitNodes(2)
	c.change(b, func() { b.Spec.Replicas = ptr.To(int32(3)) })
	c.awaitNodes(3)
	c.awaitBuffer(b, autoscalingv1beta1.ReasonFitsExistingCapacity, 3)
	c.change(b, func() { b.Spec.Replicas = ptr.To(int32(1)) })
	c.awaitNodes(1)
	c.awaitBuffer(b, autoscalingv1beta1.ReasonFitsExistingCapacity, 1)
	c.change(b, func() { b.Spec.Replicas = ptr.To(int32(0)) })
	c.awaitBuffer(b, autoscalingv1beta1.ReasonBufferEmpty, 0)
	c.awaitNodes(0)
}

// The limits of a NodePool also bound the capacity of buffers, and pods have precedence.
func TestBufferUnderPoolLimit(t *testing.T) {
	t.Parallel()
	c := newCorner(t, "buffer-limit")
	c.pool(quick, small, func(p *apiv1.NodePool) { p.Spec.Limits = apiv1.Limits{corev1.ResourceCPU: resource.MustParse("4")} })
	b, _ := c.room("room", 4, "1500m")
	c.awaitNodes(2)
	c.awaitBuffer(b, autoscalingv1beta1.ReasonRequiresNewCapacity, 4)
	c.deploy("web", 2, "1500m")
	c.awaitRunning("web", 2)
	if n := len(c.nodes()); n != 2 {
		t.Errorf("%d nodes, the limit allows 2", n)
	}
}

// Each buffer has its own capacity, according to the affinities and node selectors of its pods. Deleting a buffer removes only
// its own capacity.
func TestSeveralBuffers(t *testing.T) {
	t.Parallel()
	c := newCorner(t, "buffers")
	c.pool(quick, small)
	c.pool(quick, small, func(p *apiv1.NodePool) { p.Spec.Template.Labels["team"] = "blue" })
	spread, _ := c.room("spread", 3, "100m", apart)
	blue, _ := c.room("blue", 1, "1", func(t *corev1.PodTemplateSpec) { t.Spec.NodeSelector["team"] = "blue" })
	c.awaitBuffer(spread, autoscalingv1beta1.ReasonFitsExistingCapacity, 3)
	c.awaitBuffer(blue, autoscalingv1beta1.ReasonFitsExistingCapacity, 1)
	ofTeam := 0
	nodes := c.nodes()
	if len(nodes) < 3 {
		t.Errorf("%d nodes, want 3 for pods that keep apart", len(nodes))
	}
	for _, n := range nodes { // a node may have the capacity of both buffers
		if n.Labels["team"] == "blue" {
			ofTeam++
		}
	}
	if ofTeam == 0 {
		t.Error("no node has the label that a buffer's pods select")
	}
	if err := c.Delete(t.Context(), spread); err != nil {
		t.Fatal(err)
	}
	c.awaitNodes(1)
	c.awaitBuffer(blue, autoscalingv1beta1.ReasonFitsExistingCapacity, 1)
}

// When the node with the capacity of a buffer expires, the capacity is launched again on another node.
func TestBufferOutlivesItsNode(t *testing.T) {
	t.Parallel()
	c := newCorner(t, "buffer-expiry")
	c.pool(quick, small, func(p *apiv1.NodePool) {
		p.Spec.Template.Spec.ExpireAfter = apiv1.MustParseNillableDuration("30s")
	})
	b, _ := c.room("room", 1, "1")
	first := c.awaitNodes(1)[0].Name
	c.awaitGone(first)
	c.awaitBuffer(b, autoscalingv1beta1.ReasonFitsExistingCapacity, 1)
}

// Buffers that are deleted right after their creation leave no claims or nodes.
func TestShortLivedBuffers(t *testing.T) {
	t.Parallel()
	c := newCorner(t, "buffers-short")
	c.pool(quick, small)
	for i := range 5 {
		b, _ := c.room(fmt.Sprintf("room-%d", i), 1, "1500m")
		if err := c.Delete(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	last, _ := c.room("last", 1, "1500m")
	c.awaitBuffer(last, autoscalingv1beta1.ReasonFitsExistingCapacity, 1)
	if err := c.Delete(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	c.awaitNodes(0)
}
