package cluster

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

func newEviction(pod *corev1.Pod) *policyv1.Eviction {
	return &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
}

func TestNodeBecomesReady(t *testing.T) {
	w := newWorld(t, 1)
	w.addNode("a", "z1")
	w.settle()
	if !hasTaint(find[*corev1.Node](w, "", "a"), corev1.TaintNodeNotReady, corev1.TaintEffectNoSchedule) {
		t.Error("a node that is not ready has no taint")
	}
	w.run(5 * time.Second)
	node := find[*corev1.Node](w, "", "a")
	if !ready(node) || len(node.Spec.Taints) != 0 {
		t.Errorf("after 5 s: ready %v, taints %v", ready(node), node.Spec.Taints)
	}
}

func TestPodStartsAndEnds(t *testing.T) {
	w := newWorld(t, 1)
	w.addNode("a", "z1")
	w.run(5 * time.Second)
	create(w, Deployment("default", "web", 1, Template("web", "1", "1Gi")))
	w.settle()
	if pod := w.podsOf("web")[0]; pod.Status.Phase != corev1.PodPending || pod.Spec.NodeName != "a" {
		t.Fatalf("pod is %s on %q", pod.Status.Phase, pod.Spec.NodeName)
	}
	w.run(4 * time.Second)
	w.wantReady("web", 1)
	pod := w.podsOf("web")[0]
	w.remove(pod)
	w.run(time.Second)
	if p := find[*corev1.Pod](w, "default", pod.Name); p.DeletionTimestamp == nil || p.Status.Phase != corev1.PodRunning {
		t.Error("a pod that takes 2 s to end does not run for 1 s")
	}
	w.run(time.Second)
	if _, ok := kubeapi.Find[*corev1.Pod](w.server, "default", pod.Name); ok {
		t.Error("a pod that takes 2 s to end exists after 2 s")
	}
	w.run(5 * time.Second)
	w.wantReady("web", 1)
}

func TestPodIsNeverReady(t *testing.T) {
	w := newWorld(t, 1)
	w.addNode("a", "z1")
	template := Template("web", "1", "1Gi")
	template.Annotations = map[string]string{NeverReady: "true"}
	create(w, Deployment("default", "web", 1, template))
	w.run(time.Minute)
	pod := w.podsOf("web")[0]
	if ok, _ := podReady(pod); ok || pod.Status.Phase != corev1.PodRunning || pod.Status.ContainerStatuses[0].Ready {
		t.Errorf("the pod is %s with conditions %v and containers %v", pod.Status.Phase, pod.Status.Conditions, pod.Status.ContainerStatuses)
	}
}

func TestConditionHasItsReason(t *testing.T) {
	w := newWorld(t, 1)
	w.addNode("a", "z1")
	w.run(5 * time.Second)
	const kind = corev1.NodeConditionType("DisksReady")
	if err := w.Kubelets.SetReason("a", kind, "Worn"); err != nil {
		t.Fatal(err)
	}
	if err := w.Kubelets.SetCondition("a", kind, corev1.ConditionFalse); err != nil {
		t.Fatal(err)
	}
	w.run(time.Second)
	reason := ""
	for _, c := range find[*corev1.Node](w, "", "a").Status.Conditions {
		if c.Type == kind {
			reason = c.Reason
		}
	}
	if reason != "Worn" {
		t.Errorf("the reason is %q", reason)
	}
}

func TestGracePeriodBoundsTheEnd(t *testing.T) {
	w := newWorld(t, 1)
	w.addNode("a", "z1")
	template := Template("web", "1", "1Gi")
	template.Annotations[EndsAfter] = "10m"
	grace := int64(20)
	template.Spec.TerminationGracePeriodSeconds = &grace
	create(w, Deployment("default", "web", 1, template))
	w.run(10 * time.Second)
	pod := w.podsOf("web")[0]
	w.remove(pod)
	w.run(19 * time.Second)
	find[*corev1.Pod](w, "default", pod.Name)
	w.run(time.Second)
	if _, ok := kubeapi.Find[*corev1.Pod](w.server, "default", pod.Name); ok {
		t.Error("the pod exists after its grace period")
	}
}

func TestDeadNode(t *testing.T) {
	w := newWorld(t, 1)
	w.addNode("a", "z1")
	w.run(5 * time.Second)
	create(w, Deployment("default", "web", 2, Template("web", "1", "1Gi")))
	w.run(5 * time.Second)
	dead := w.podsOf("web")
	w.addNode("b", "z1")
	w.run(5 * time.Second)
	if err := w.Kubelets.Kill("a"); err != nil {
		t.Fatal(err)
	}
	w.run(39 * time.Second)
	if !ready(find[*corev1.Node](w, "", "a")) {
		t.Error("the node is not ready 39 s after its kubelet stopped")
	}
	w.run(2 * time.Second)
	node := find[*corev1.Node](w, "", "a")
	if c := nodeCondition(node, corev1.NodeReady); c.Status != corev1.ConditionUnknown {
		t.Errorf("Ready is %s after 41 s", c.Status)
	}
	if !hasTaint(node, corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute) || !hasTaint(node, corev1.TaintNodeUnreachable, corev1.TaintEffectNoSchedule) {
		t.Errorf("taints are %v", node.Spec.Taints)
	}
	w.wantReady("web", 0)
	w.run(298 * time.Second)
	if find[*corev1.Pod](w, "default", dead[0].Name).DeletionTimestamp != nil {
		t.Error("the pod was evicted before its toleration ended")
	}
	w.run(8 * time.Second)
	for _, pod := range dead {
		if find[*corev1.Pod](w, "default", pod.Name).DeletionTimestamp == nil {
			t.Error("a pod was not evicted after 300 s")
		}
	}
	w.wantReady("web", 2) // both pods run on node b
	w.run(time.Hour)
	find[*corev1.Pod](w, "default", dead[0].Name) // it remains, because only a kubelet ends the containers of a pod
	w.remove(find[*corev1.Node](w, "", "a"))
	w.run(time.Minute)
	if n := len(w.podsOf("web")); n != 2 {
		t.Errorf("%d pods exist after the node was deleted", n)
	}
}

func TestNodeRecovers(t *testing.T) {
	for _, tt := range []struct {
		name string
		fail func(k *Kubelets) error
		want corev1.ConditionStatus
		pods int // number of pods after five minutes and a half
	}{
		{"killed", func(k *Kubelets) error { return k.Kill("a") }, corev1.ConditionUnknown, 0},
		{"not ready", func(k *Kubelets) error { return k.MakeNotReady("a") }, corev1.ConditionFalse, 0},
		{"condition", func(k *Kubelets) error { return k.SetCondition("a", "StorageReady", corev1.ConditionFalse) }, corev1.ConditionTrue, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, 1)
			w.addNode("a", "z1")
			create(w, Deployment("default", "web", 2, Template("web", "1", "1Gi")))
			w.run(10 * time.Second)
			w.wantReady("web", 2)
			if err := tt.fail(w.Kubelets); err != nil {
				t.Fatal(err)
			}
			w.run(time.Minute)
			if c := nodeCondition(find[*corev1.Node](w, "", "a"), corev1.NodeReady); c.Status != tt.want {
				t.Errorf("Ready is %s, want %s", c.Status, tt.want)
			}
			w.wantReady("web", tt.pods)
			if err := w.Kubelets.Restore("a"); err != nil {
				t.Fatal(err)
			}
			w.run(5 * time.Second)
			node := find[*corev1.Node](w, "", "a")
			if !ready(node) || len(node.Spec.Taints) > 0 || nodeCondition(node, "StorageReady") != nil {
				t.Errorf("after it was restored: conditions %v, taints %v", node.Status.Conditions, node.Spec.Taints)
			}
			w.wantReady("web", 2)
		})
	}
}

func TestNoExecuteEvictsAtOnce(t *testing.T) {
	w := newWorld(t, 1)
	w.addNode("a", "z1")
	create(w, Deployment("default", "web", 1, Template("web", "1", "1Gi")))
	w.run(10 * time.Second)
	edit(w, "", "a", func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "gone", Effect: corev1.TaintEffectNoExecute})
	})
	w.run(10 * time.Second)
	if pods := w.podsOf("web"); len(pods) != 1 || pods[0].Spec.NodeName != "" {
		t.Errorf("pods are %d, the first on %q, want one pending", len(pods), pods[0].Spec.NodeName)
	}
}

// When a machine is stopped, the annotation of its node is removed. From then on the node has no kubelet: it becomes
// unready, and deleted pods remain until the annotation is back.
func TestStoppedMachine(t *testing.T) {
	w := newWorld(t, 1)
	w.addNode("a", "z1")
	create(w, Deployment("default", "web", 1, Template("web", "1", "1Gi")))
	w.run(10 * time.Second)
	pod := w.podsOf("web")[0]
	edit(w, "", "a", func(n *corev1.Node) { n.Annotations = nil })
	w.remove(pod)
	w.run(41 * time.Second)
	if c := nodeCondition(find[*corev1.Node](w, "", "a"), corev1.NodeReady); c.Status != corev1.ConditionUnknown {
		t.Errorf("Ready is %s", c.Status)
	}
	find[*corev1.Pod](w, "default", pod.Name)
	edit(w, "", "a", func(n *corev1.Node) { n.Annotations = map[string]string{kwokNode: "fake"} })
	w.run(10 * time.Second)
	if !ready(find[*corev1.Node](w, "", "a")) {
		t.Error("the node is not ready after its machine started again")
	}
	if _, ok := kubeapi.Find[*corev1.Pod](w.server, "default", pod.Name); ok {
		t.Error("the kubelet that started again did not end the deleted pod")
	}
	w.wantReady("web", 1)
}

// A new node with the name of a node whose kubelet was killed has a running kubelet.
func TestSameNameAgain(t *testing.T) {
	w := newWorld(t, 1)
	old := w.addNode("a", "z1")
	w.run(10 * time.Second)
	if err := w.Kubelets.Kill("a"); err != nil {
		t.Fatal(err)
	}
	w.run(time.Minute)
	w.remove(old)
	w.addNode("a", "z1")
	w.run(10 * time.Second)
	if !ready(find[*corev1.Node](w, "", "a")) {
		t.Error("the new node is not ready")
	}
	if err := w.Kubelets.Kill("missing"); err == nil {
		t.Error("a node that does not exist was killed")
	}
}

func TestHostNetworkNeedsNoReadyNode(t *testing.T) {
	w := newWorld(t, 1)
	w.addNode("a", "z1")
	if err := w.Kubelets.MakeNotReady("a"); err != nil {
		t.Fatal(err)
	}
	template := Template("net", "100m", "100Mi")
	template.Spec.HostNetwork = true
	template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	create(w, DaemonSet("kube-system", "net", template))
	template = Template("agent", "100m", "100Mi")
	template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	create(w, DaemonSet("kube-system", "agent", template))
	w.run(10 * time.Second)
	if a, b := w.podsOf("net")[0].Status.Phase, w.podsOf("agent")[0].Status.Phase; a != corev1.PodRunning || b != corev1.PodPending {
		t.Errorf("the pod with the network of the host is %s, the other one is %s", a, b)
	}
}
