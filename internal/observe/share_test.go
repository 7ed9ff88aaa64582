package observe_test

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-go/karpenter/internal/observe"
)

// replica returns the pod with the number of a ReplicaSet. Its texts share no memory with those of another call.
func replica(set string, number int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("%s-%d", set, number), Namespace: strings.Clone("shop"), UID: types.UID(fmt.Sprintf("%s-%d", set, number)),
			Labels:          map[string]string{"app": strings.Clone(set), "tier": strings.Clone("front")},
			Annotations:     map[string]string{"number": fmt.Sprint(number)},
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: set, UID: types.UID(set), Controller: new(true)}},
		},
		Spec: corev1.PodSpec{
			NodeName:    strings.Clone("node-a"),
			Containers:  []corev1.Container{{Name: "web", Resources: corev1.ResourceRequirements{Requests: amounts("2")}}},
			Tolerations: []corev1.Toleration{{Key: "team", Operator: corev1.TolerationOpExists}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPhase(strings.Clone("Running"))},
	}
}

func transform[T any](t *testing.T, s *observe.Sharer, o T) T {
	t.Helper()
	if _, err := s.Transform(o); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestPodsOfOneOwnerShare(t *testing.T) {
	s := observe.NewSharer()
	first, second := transform(t, s, replica("web", 1)), transform(t, s, replica("web", 2))
	want := replica("web", 2)
	if diff := cmp.Diff(want, second); diff != "" {
		t.Error("shared parts change the pod:\n" + diff)
	}
	if reflect.ValueOf(first.Labels).Pointer() != reflect.ValueOf(second.Labels).Pointer() {
		t.Error("the labels are not shared")
	}
	if &first.Spec.Containers[0] != &second.Spec.Containers[0] || &first.Spec.Tolerations[0] != &second.Spec.Tolerations[0] {
		t.Error("the containers or tolerations are not shared")
	}
	if unsafe.StringData(first.Spec.NodeName) != unsafe.StringData(second.Spec.NodeName) {
		t.Error("the name of the node is not shared")
	}
	if reflect.ValueOf(first.Annotations).Pointer() == reflect.ValueOf(second.Annotations).Pointer() {
		t.Error("different annotations are shared")
	}
	other := replica("web", 3)
	other.Labels["app"] = "changed"
	other.Spec.Containers[0].Resources.Requests = amounts("3")
	if diff := cmp.Diff(other.DeepCopy(), transform(t, s, other)); diff != "" {
		t.Error("a pod that differs is changed:\n" + diff)
	}
	if first.Labels["app"] != "web" || second.Labels["app"] != "web" {
		t.Error("a stored pod is changed")
	}
}

func TestNodesShareTexts(t *testing.T) {
	s := observe.NewSharer()
	node := func(name string) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"zone": strings.Clone("zone-a"), "host": name}}}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Message: strings.Clone("kubelet is ready")}}
		return n
	}
	a, b := transform(t, s, node("a")), transform(t, s, node("b"))
	if diff := cmp.Diff(node("b"), b); diff != "" {
		t.Error(diff)
	}
	if unsafe.StringData(a.Labels["zone"]) != unsafe.StringData(b.Labels["zone"]) {
		t.Error("the values of labels are not shared")
	}
	if unsafe.StringData(a.Status.Conditions[0].Message) != unsafe.StringData(b.Status.Conditions[0].Message) {
		t.Error("the messages of conditions are not shared")
	}
}

// A Sharer keeps no pod in memory that the cache removed.
func TestSharerKeepsNoPods(t *testing.T) {
	s := observe.NewSharer()
	ended := make(chan struct{})
	func() {
		p := replica("web", 1)
		runtime.AddCleanup(p, func(c chan struct{}) { close(c) }, ended)
		transform(t, s, p)
	}()
	runtime.GC()
	<-ended
	runtime.KeepAlive(s)
}
