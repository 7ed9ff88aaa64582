package kwok

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// Requests of a DaemonSet that come from a LimitRange, and not from its template, are counted. The first node has capacity for
// the DaemonSet and the pod.
func TestDaemonsUnderLimitRange(t *testing.T) {
	t.Parallel()
	c := newCorner(t, "limit-range")
	c.pool(quick)
	c.put(&corev1.LimitRange{
		ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: c.name},
		Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
			Type:           corev1.LimitTypeContainer,
			DefaultRequest: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")},
			Default:        corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")},
		}}},
	})
	c.daemon("agent", "")
	c.deploy("web", 1, "1")
	c.awaitRunning("web", 1)
	c.awaitRunning("agent", 1)
	n := c.awaitNodes(1)[0]
	if got := n.Status.Allocatable.Cpu().MilliValue(); got < 4000 {
		t.Errorf("the node has %dm, too little for both", got)
	}
}

// daemon creates a DaemonSet for the corner's nodes. It has no requests if cpu is empty.
func (c *corner) daemon(name, cpu string, change ...func(*corev1.PodTemplateSpec)) {
	c.t.Helper()
	labels := map[string]string{"app": name}
	spec := c.podSpec("1")
	spec.Containers[0].Resources.Requests = nil
	if cpu != "" {
		spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec}
	for _, do := range change {
		do(&template)
	}
	c.put(&appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.name},
		Spec:       appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template},
	})
}

// Requests of DaemonSets are subtracted, and pods with the same host port get different nodes.
func TestDaemonsAndHostPorts(t *testing.T) {
	t.Parallel()
	c := newCorner(t, "daemons")
	c.pool()
	c.daemon("agent", "2")
	c.deploy("web", 2, "1", func(t *corev1.PodTemplateSpec) {
		t.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
	})
	c.awaitRunning("web", 2)
	nodes := c.awaitNodes(2)
	c.awaitRunning("agent", 2)
	for _, n := range nodes {
		if got := n.Labels[corev1.LabelInstanceTypeStable]; got != "c-4x-amd64-linux" {
			t.Errorf("node is a %s, want one with room for daemon and pod", got)
		}
	}
}

// A DaemonSet uses its host port on each of its nodes. So a pod with that host port gets a node of a pool whose nodes the
// DaemonSet does not select.
func TestHostPortOfDaemon(t *testing.T) {
	t.Parallel()
	c := newCorner(t, "daemon-port")
	c.pool(func(p *apiv1.NodePool) {
		p.Spec.Template.Labels["agent"] = "yes"
		weight := int32(50)
		p.Spec.Weight = &weight
	})
	c.pool()
	port := func(t *corev1.PodTemplateSpec) {
		t.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 9100, HostPort: 9100}}
	}
	c.daemon("agent", "100m", port, func(t *corev1.PodTemplateSpec) { t.Spec.NodeSelector["agent"] = "yes" })
	c.deploy("web", 1, "1", port)
	c.awaitRunning("web", 1)
	if n := c.awaitNodes(1)[0]; n.Labels["agent"] != "" {
		t.Error("the pod went to the pool whose daemon has its port")
	}
}

// Limits without requests count as requests: for a DaemonSet those of its template, for pods also those of their LimitRange.
func TestLimitsAreRequests(t *testing.T) {
	t.Parallel()
	c := newCorner(t, "limits")
	c.pool()
	c.daemon("agent", "", func(t *corev1.PodTemplateSpec) {
		t.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")}
	})
	c.deploy("web", 1, "500m")
	c.awaitRunning("web", 1)
	c.awaitRunning("agent", 1)
	c.awaitNodes(1)
}
