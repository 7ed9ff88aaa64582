package e2e

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestVersionIsKubernetes(t *testing.T) {
	if out := shared.Kubectl(t, "version"); !strings.Contains(out, "Server Version: v1.36.3") {
		t.Errorf("kubectl version says:\n%s", out)
	}
}

func TestStatusIsReady(t *testing.T) {
	out, err := shared.Run(t, "status", "-o", "json")
	if err != nil || !strings.Contains(out, `"ready": true`) {
		t.Errorf("status: %v\n%s", err, out)
	}
}

// If all parts run, up changes nothing: processes and ports are the same.
func TestUpTwiceIsHarmless(t *testing.T) {
	before, err := shared.Cluster.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if out, err := shared.Run(t, "up", "--no-controller"); err != nil {
		t.Fatalf("up: %v\n%s", err, out)
	}
	after, err := shared.Cluster.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("before: %v\nafter: %v", before, after)
	}
}

// A Node becomes ready with exactly the capacity with which it was created. A pod that the scheduler binds to it runs. After
// its deletion, the pod is removed.
func TestHollowNodeRunsPods(t *testing.T) {
	const name = "hollow-node"
	size := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("1930m"),
		corev1.ResourceMemory: resource.MustParse("7Gi"),
		corev1.ResourcePods:   resource.MustParse("29"),
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Labels:      map[string]string{"e2e": name},
			Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
		},
		Status: corev1.NodeStatus{Capacity: size, Allocatable: size},
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"e2e": name},
			Containers:   []corev1.Container{{Name: "main", Image: "pause"}},
		},
	}
	shared.Make(t, node, pod)
	awaitReadyNode(t, name)
	if err := shared.Get(t.Context(), client.ObjectKeyFromObject(node), node); err != nil {
		t.Fatal(err)
	}
	for resource, want := range size {
		if got := node.Status.Allocatable[resource]; got.Cmp(want) != 0 {
			t.Errorf("allocatable %s is %s, want %s as registered", resource, &got, &want)
		}
	}
	awaitPods(t, client.MatchingFields{"metadata.name": name}, func(pods []corev1.Pod) string {
		if len(pods) == 1 && pods[0].Status.Phase == corev1.PodRunning && pods[0].Spec.NodeName == name {
			return ""
		}
		return "pod is not running on " + name
	})
	if err := shared.Delete(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	awaitPods(t, client.MatchingFields{"metadata.name": name}, func(pods []corev1.Pod) string {
		if len(pods) == 0 {
			return ""
		}
		return "pod is still there"
	})
	if err := shared.Delete(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	if err := shared.Get(t.Context(), client.ObjectKeyFromObject(node), node); !apierrors.IsNotFound(err) {
		t.Errorf("get deleted node: %v, want not found", err)
	}
}

// A node without capacity has no owner yet and must not become ready.
func TestNodeWithoutSizeIsNotReady(t *testing.T) {
	const empty, full = "hollow-empty", "hollow-full"
	hollow := map[string]string{"kwok.x-k8s.io/node": "fake"}
	size := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	shared.Make(t,
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: empty, Annotations: hollow}},
		&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: full, Annotations: hollow},
			Status:     corev1.NodeStatus{Capacity: size, Allocatable: size},
		})
	// The node that was created later is ready, so the other one would be ready as well.
	awaitReadyNode(t, full)
	var node corev1.Node
	if err := shared.Get(t.Context(), client.ObjectKey{Name: empty}, &node); err != nil {
		t.Fatal(err)
	}
	if ready(&node) {
		t.Error("a node without a size is ready")
	}
}

func awaitReadyNode(t *testing.T, name string) {
	t.Helper()
	var nodes corev1.NodeList
	shared.Await(t, &nodes, func() string {
		if len(nodes.Items) == 1 && ready(&nodes.Items[0]) {
			return ""
		}
		return "node " + name + " is not ready"
	}, client.MatchingFields{"metadata.name": name})
}

func awaitPods(t *testing.T, which client.ListOption, done func([]corev1.Pod) string) {
	t.Helper()
	var pods corev1.PodList
	shared.Await(t, &pods, func() string { return done(pods.Items) },
		which, client.InNamespace(metav1.NamespaceDefault))
}

func ready(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// A node that was set to NotReady stays so. A node whose kubelet has just started becomes ready.
func TestSickNodeStaysSick(t *testing.T) {
	const starting, sick = "hollow-starting", "hollow-sick"
	size := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	// The sick node is created first. When the later one is ready, the sick one would be ready as well.
	for _, name := range []string{sick, starting} {
		reason := map[string]string{sick: "DiskOnFire", starting: "KubeletNotReady"}[name]
		shared.Make(t, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
			},
			Status: corev1.NodeStatus{
				Capacity: size, Allocatable: size,
				Conditions: []corev1.NodeCondition{
					{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: reason},
				},
			},
		})
	}
	awaitReadyNode(t, starting)
	var node corev1.Node
	if err := shared.Get(t.Context(), client.ObjectKey{Name: sick}, &node); err != nil {
		t.Fatal(err)
	}
	if ready(&node) {
		t.Error("the sick node was declared ready")
	}
}
