package model_test

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

func limitRange(namespace, cpu string) *corev1.LimitRange {
	r := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "range", Namespace: namespace}}
	r.Spec.Limits = []corev1.LimitRangeItem{
		{Type: corev1.LimitTypePod, Max: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("9")}},
		{Type: corev1.LimitTypeContainer, Default: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
	}
	return r
}

// The requests of a DaemonSet are those of its newest pod, which may exceed those of the template.
func TestInformed(t *testing.T) {
	spec := func(cpu string) corev1.PodSpec {
		c := corev1.Container{Name: "agent"}
		if cpu != "" {
			c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
		}
		return corev1.PodSpec{Containers: []corev1.Container{c}}
	}
	daemon := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "agent", Namespace: "kube-system"}}
	daemon.Spec.Template.Spec = spec("")
	pod := func(name, cpu string, age time.Duration) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "kube-system", CreationTimestamp: metav1.NewTime(time.Unix(1000, 0).Add(-age)),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent"}},
		}, Spec: spec(cpu)}
		p.Spec.NodeName = "n1"
		return p
	}
	for _, tt := range []struct {
		name string
		pods []*corev1.Pod
		want int64
	}{
		{"no pod yet", nil, 700}, // the default of the LimitRange of the namespace
		{"one pod", []*corev1.Pod{pod("a", "200m", 0)}, 200},
		{"the newest", []*corev1.Pod{pod("a", "300m", time.Minute), pod("b", "100m", time.Second)}, 100},
		{"of one age the later name", []*corev1.Pod{pod("a", "300m", 0), pod("b", "100m", 0)}, 100},
	} {
		t.Run(tt.name, func(t *testing.T) {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
			s := model.Compile(model.Delta{
				Nodes: []*corev1.Node{node}, Daemons: []*appsv1.DaemonSet{daemon}, Pods: tt.pods,
			})
			ranges := []*corev1.LimitRange{limitRange("default", "50m"), limitRange("kube-system", "700m")}
			if got := s.Informed(ranges).Daemons()[0].Pod.Requests["cpu"]; got != tt.want {
				t.Errorf("the daemon asks for %dm, want %dm", got, tt.want)
			}
			if len(daemon.Spec.Template.Spec.Containers[0].Resources.Requests) != 0 {
				t.Error("the daemon's own object was changed")
			}
		})
	}
}
