package model_test

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// A nomination is a hint, not a binding: the pod is still provisionable.
func TestNominatedPod(t *testing.T) {
	o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	o.Status.NominatedNodeName = "n1"
	o.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	}}
	s := model.Compile(model.Delta{Pods: []*corev1.Pod{o}})
	if len(s.Pending()) != 1 {
		t.Fatal("a nominated pod does not wait")
	}
	p := s.Pending()[0]
	if got := s.TargetOf(p); got != "n1" {
		t.Errorf("target %q, want the node that it is nominated to", got)
	}
	if got := s.WithTargets(map[string]string{"default/web": "n2"}).TargetOf(p); got != "n2" {
		t.Errorf("target %q, want the node that we planned", got)
	}
	bound := o.DeepCopy()
	bound.Spec.NodeName = "n3" // API servers before 1.35 do not remove the nomination
	if got := s.TargetOf(model.NewPod(bound)); got != "" {
		t.Errorf("a pod that is on its node has target %q for what it was nominated to before", got)
	}
	if got := s.WithTargets(map[string]string{"default/web": "n2"}).TargetOf(model.NewPod(bound)); got != "n2" {
		t.Errorf("a pod that is to move has target %q, want the node that we planned", got)
	}
}

func TestPriority(t *testing.T) {
	o := &corev1.Pod{}
	if got := model.NewPod(o).Priority(); got != 0 {
		t.Errorf("priority %d without one, want 0", got)
	}
	ten := int32(10)
	o.Spec.Priority = &ten
	if got := model.NewPod(o).Priority(); got != 10 {
		t.Errorf("priority %d, want 10", got)
	}
}

// A cordoned node has the taint for unschedulable nodes exactly once, whether the API server has added it or not, and
// keeps its other taints.
func TestCordon(t *testing.T) {
	cordon := corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}
	mine := corev1.Taint{Key: "mine", Effect: corev1.TaintEffectNoSchedule}
	for _, taints := range [][]corev1.Taint{{mine}, {mine, cordon}} {
		o := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
		o.Spec.Unschedulable, o.Spec.Taints = true, taints
		s := model.Compile(model.Delta{Nodes: []*corev1.Node{o}})
		n, _ := s.NodeByName("n1")
		if len(n.Taints) != 2 || n.Taints[0] != mine || n.Taints[1] != cordon {
			t.Errorf("taints %v become %v", taints, n.Taints)
		}
	}
}

// For a pod with a single container and nothing else, requests are computed by a shorter code path. Its result equals that of
// the general code.
func TestRequestsOfOneContainer(t *testing.T) {
	o := &corev1.Pod{}
	o.Spec.Containers = []corev1.Container{{Name: "c"}}
	o.Spec.Containers[0].Resources.Requests = corev1.ResourceList{
		"cpu": resource.MustParse("1500m"), "memory": resource.MustParse("1Gi"), "nvidia.com/gpu": resource.MustParse("2"),
	}
	short := model.NewPod(o).Requests
	o.Spec.Overhead = corev1.ResourceList{} // with an overhead, the general code is used
	if long := model.NewPod(o).Requests; !maps.Equal(short, long) {
		t.Errorf("requests %v, want %v", short, long)
	}
	o.Spec.Overhead = corev1.ResourceList{"cpu": resource.MustParse("100m")}
	if got := model.NewPod(o).Requests["cpu"]; got != 1600 {
		t.Errorf("%d millicores with overhead, want 1600", got)
	}
	o.Spec.Overhead = nil
	o.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "c", Resources: &corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("3")}},
		AllocatedResources: corev1.ResourceList{"cpu": resource.MustParse("3")},
	}}
	if got := model.NewPod(o).Requests["cpu"]; got != 3000 {
		t.Errorf("%d millicores while a container still holds 3 cores, want 3000", got)
	}
}
