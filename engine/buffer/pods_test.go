package buffer_test

import (
	"math"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autoscalingv1beta1 "github.com/karpenter-go/karpenter/api/autoscaling/v1beta1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/buffer"
	"github.com/karpenter-go/karpenter/engine/model"
)

// template returns a pod template with a cpu limit of 2 and without requests, so the pods request 2 cores. One of its two
// volumes needs a PersistentVolumeClaim.
func template() *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{
			NodeName: "somewhere", PriorityClassName: "high", Priority: ptr(int32(1000)),
			Volumes: []corev1.Volume{
				{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{}}},
				{Name: "conf", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}},
			},
			Containers: []corev1.Container{{
				Name: "main", VolumeMounts: []corev1.VolumeMount{{Name: "data"}, {Name: "conf"}},
				Resources: corev1.ResourceRequirements{Limits: list("cpu", "2")},
			}},
		},
	}
}

func ptr[T any](v T) *T { return &v }

func list(name, quantity string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceName(name): resource.MustParse(quantity)}
}

func TestCount(t *testing.T) {
	type spec = autoscalingv1beta1.CapacityBufferSpec
	limit := func(name, quantity string) *corev1.ResourceList { return ptr(list(name, quantity)) }
	for _, tt := range []struct {
		name  string
		spec  spec
		scale *int32
		want  int32
	}{
		{"nothing said", spec{}, nil, 0},
		{"replicas", spec{Replicas: ptr(int32(3))}, nil, 3},
		{"part of the scale, rounded up", spec{Percentage: ptr(int32(25))}, ptr(int32(10)), 3},
		{"a part is one at least", spec{Percentage: ptr(int32(10))}, ptr(int32(0)), 1},
		{"no part is none", spec{Percentage: ptr(int32(0))}, ptr(int32(10)), 0},
		{"the larger of both", spec{Replicas: ptr(int32(4)), Percentage: ptr(int32(20))}, ptr(int32(10)), 4},
		{"the larger of both, the other way", spec{Replicas: ptr(int32(1)), Percentage: ptr(int32(20))}, ptr(int32(10)), 2},
		{"limits cut", spec{Replicas: ptr(int32(9)), Limits: limit("cpu", "5")}, nil, 2},
		{"limits do not add", spec{Replicas: ptr(int32(1)), Limits: limit("cpu", "9")}, nil, 1},
		{"limits alone", spec{Limits: limit("cpu", "9")}, nil, 4},
		{"limits of pods", spec{Replicas: ptr(int32(9)), Limits: limit("pods", "3")}, nil, 3},
		{"limits of a resource that is not requested", spec{Replicas: ptr(int32(2)), Limits: limit("memory", "1Gi")}, nil, 2},
		{"limits too small for one", spec{Replicas: ptr(int32(2)), Limits: limit("cpu", "1")}, nil, 0},
		{"a negative limit", spec{Limits: limit("cpu", "-5")}, nil, 0},
		{"a negative limit beside replicas", spec{Replicas: ptr(int32(2)), Limits: limit("cpu", "-5")}, nil, 0},
		{"negative replicas", spec{Replicas: ptr(int32(-2))}, nil, 0},
		{"too many to be meant", spec{Replicas: ptr(int32(math.MaxInt32))}, nil, 10_000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := buffer.Count(tt.spec, buffer.Source{Template: template(), Scale: tt.scale}); got != tt.want {
				t.Errorf("room for %d, want %d", got, tt.want)
			}
		})
	}
}

// A virtual pod is pending, names its buffer and has the lowest priority. Volumes of the template that need a
// PersistentVolumeClaim are omitted.
func TestPods(t *testing.T) {
	b := &autoscalingv1beta1.CapacityBuffer{ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "ns", UID: "uid"}}
	b.Spec.Replicas = ptr(int32(2))
	from := template()
	pods := buffer.Pods(b, buffer.Source{Template: from})
	if len(pods) != 2 || pods[1].Name != "capacity-buffer-b-1" || pods[1].UID != "uid-1" || pods[1].Labels["app"] != "web" {
		t.Fatalf("pods are %v", pods)
	}
	p := pods[0]
	if p.Annotations[apiv1.CapacityBufferFakePodAnnotationKey] != "true" || *p.Spec.Priority != math.MinInt32 ||
		p.Spec.NodeName != "" || len(p.Spec.Volumes) != 1 || len(p.Spec.Containers[0].VolumeMounts) != 1 {
		t.Errorf("pod is %v", p)
	}
	s := model.Compile(model.Delta{Virtual: pods})
	if got := s.Pending(); len(got) != 2 || !got[0].Virtual() || got[0].Buffer != "ns/b" || got[0].Requests["cpu"] != 2000 {
		t.Errorf("pending are %v", got)
	}
	if from.Spec.NodeName == "" || len(from.Spec.Volumes) != 2 {
		t.Error("the template was changed")
	}
}

// TestBuffersOfNamespaceAreBounded checks that the buffers of a namespace are for at most 10,000 pods together, and that each one that
// gets fewer than it specifies says so.
func TestBuffersOfNamespaceAreBounded(t *testing.T) {
	quotas := buffer.NewQuotas(nil)
	for _, tt := range []struct {
		replicas, want int32
		message        string
	}{
		{6000, 6000, "Pod template and number of pods are known"},
		{6000, 4000, "Pod template and number of pods are known; limited to 4,000 pods, because the buffers of a namespace are for at most 10,000 pods together"},
		{1, 0, "Pod template and number of pods are known; limited to 0 pods, because the buffers of a namespace are for at most 10,000 pods together"},
		{0, 0, "Pod template and number of pods are known"},
	} {
		b := &autoscalingv1beta1.CapacityBuffer{Spec: autoscalingv1beta1.CapacityBufferSpec{Replicas: &tt.replicas}}
		src := buffer.Source{Template: template()}
		src.Ration = quotas.Give(src.Template, buffer.Count(b.Spec, src))
		pods := buffer.Pods(b, src)
		if len(pods) != int(tt.want) {
			t.Errorf("a buffer of %d replicas is for %d pods, want %d", tt.replicas, len(pods), tt.want)
		}
		status := buffer.Status(b, src, pods, &model.Snapshot{})
		if len(status.Conditions) != 2 || status.Conditions[0].Message != tt.message {
			t.Errorf("a buffer of %d replicas has the conditions %v, want the first with %q and no third", tt.replicas, status.Conditions, tt.message)
		}
	}
}
