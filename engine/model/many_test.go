package model_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// If a Delta has a thousand pods or more, goroutines share the work. The Snapshot is the same for any number of processors,
// also if pods are replaced or bound.
func TestManyPodsOnManyProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	pods := func(from, to int, node func(i int) string) []*corev1.Pod {
		var out []*corev1.Pod
		for i := from; i < to; i++ {
			o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("p%d", i*7919%to)}}
			o.Spec.NodeName = node(i)
			o.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{
				Requests: model.Resources{"cpu": int64(100 * (i%3 + 1)), "memory": int64(i%2) << 30}.List(),
			}}}
			if o.Spec.NodeName == "" {
				o.Status.Conditions = []corev1.PodCondition{{
					Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
				}}
			}
			out = append(out, o)
		}
		return out
	}
	node := func(name string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: "id-" + name}}
	}
	nowhere := func(int) string { return "" }
	first := model.Delta{Nodes: []*corev1.Node{node("a"), node("b")}, Pods: slices.Concat(
		pods(0, 2500, nowhere), pods(0, 300, func(i int) string { return []string{"", "a"}[i%2] }))} // the last 300 replace some
	second := model.Delta{Pods: pods(0, 2100, func(i int) string { return []string{"", "a", "b"}[i%3] })}
	var want []string
	for _, processors := range []int{1, 2, 4} {
		runtime.GOMAXPROCS(processors)
		s := model.Compile(first).Apply(second)
		got := dump(s)
		for _, p := range s.Pods.Values() {
			got = append(got, fmt.Sprint(p.Key, p.Requests))
			if diff := cmp.Diff(model.NewPod(p.Object).Requests, p.Requests); diff != "" {
				t.Errorf("on %d processors, %s asks for what another pod does (-alone +among many):\n%s", processors, p.Key, diff)
			}
		}
		if want == nil {
			want = got
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("on %d processors (-one +many):\n%s", processors, diff)
		}
		if p := s.Pods.Values(); len(p) != 2500 || !slices.IsSortedFunc(p, func(a, b *model.Pod) int {
			return strings.Compare(a.Key, b.Key)
		}) {
			t.Errorf("on %d processors: %d pods, or out of order", processors, len(p))
		}
	}
}
