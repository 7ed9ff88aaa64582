package act

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// Cordon adds exactly one taint. It replaces a taint of another version with the same key, and keeps other taints.
func TestCordon(t *testing.T) {
	taint, other := apiv1.DisruptedNoScheduleTaint(), corev1.Taint{Key: "team", Value: "a", Effect: corev1.TaintEffectNoExecute}
	old := corev1.Taint{Key: apiv1.DisruptedTaintKey, Value: "disrupting", Effect: corev1.TaintEffectNoSchedule}
	for _, tt := range []struct {
		name    string
		taints  []corev1.Taint
		want    []corev1.Taint
		changed bool
	}{
		{"open", nil, []corev1.Taint{taint}, true},
		{"with another taint", []corev1.Taint{other}, []corev1.Taint{other, taint}, true},
		{"of another version", []corev1.Taint{old, other}, []corev1.Taint{other, taint}, true},
		{"cordoned", []corev1.Taint{taint, other}, []corev1.Taint{taint, other}, false},
	} {
		node := &corev1.Node{Spec: corev1.NodeSpec{Taints: tt.taints}}
		if changed := Cordon(node); changed != tt.changed || !slices.Equal(node.Spec.Taints, tt.want) {
			t.Errorf("%s: %v, %v", tt.name, changed, node.Spec.Taints)
		}
	}
}
