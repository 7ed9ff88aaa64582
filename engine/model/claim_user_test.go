package model

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The pod that may use a claim with ReadWriteOncePod is the bound one, else the first pending one by priority, age and key.
func TestSoleUser(t *testing.T) {
	pod := func(name string, priority int32, age time.Duration, change ...func(*corev1.Pod)) *corev1.Pod {
		o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "d", Name: name, CreationTimestamp: metav1.NewTime(time.Unix(1e6, 0).Add(-age)),
		}}
		o.Spec.Priority = &priority
		o.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
		}}}
		o.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		}}
		for _, f := range change {
			f(o)
		}
		return o
	}
	bound := func(o *corev1.Pod) { o.Spec.NodeName = "n" }
	ended := func(o *corev1.Pod) { o.Status.Phase = corev1.PodSucceeded }
	gated := func(o *corev1.Pod) { o.Status.Conditions[0].Reason = corev1.PodReasonSchedulingGated }
	once := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
	for _, tt := range []struct {
		name  string
		pods  []*corev1.Pod
		modes []corev1.PersistentVolumeAccessMode
		want  string
	}{
		{"none", nil, once, ""},
		{"another access mode", []*corev1.Pod{pod("a", 0, 0)}, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, ""},
		{"bound", []*corev1.Pod{pod("a", 9, time.Hour), pod("b", 0, 0, bound)}, once, "d/b"},
		{"finished", []*corev1.Pod{pod("a", 0, 0, bound, ended), pod("b", 0, 0)}, once, "d/b"},
		{"not to be planned", []*corev1.Pod{pod("a", 0, 0, gated), pod("b", 0, 0)}, once, "d/b"},
		{"priority", []*corev1.Pod{pod("a", 0, time.Hour), pod("b", 1, 0)}, once, "d/b"},
		{"age", []*corev1.Pod{pod("a", 0, 0), pod("b", 0, time.Hour)}, once, "d/b"},
		{"key", []*corev1.Pod{pod("b", 0, 0), pod("a", 0, 0)}, once, "d/a"},
	} {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: "data"}}
		claim.Spec.AccessModes = tt.modes
		got := ""
		if u := SoleUser(Compile(Delta{Pods: tt.pods, VolumeClaims: []*corev1.PersistentVolumeClaim{claim}}), "d/data"); u != nil {
			got = u.Key
		}
		if got != tt.want {
			t.Errorf("%s: user is %q, want %q", tt.name, got, tt.want)
		}
	}
}
