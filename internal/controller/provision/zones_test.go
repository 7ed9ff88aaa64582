package provision

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestZoneOf(t *testing.T) {
	affine := func(values ...string) *corev1.Affinity {
		return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
				{MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: values},
				}},
			}},
		}}
	}
	a := map[string]string{corev1.LabelTopologyZone: "a"}
	for _, tt := range []struct {
		name string
		spec corev1.PodSpec
		want string
	}{
		{"no wish", corev1.PodSpec{}, "flexible"},
		{"selector", corev1.PodSpec{NodeSelector: a}, "a"},
		{"two zones", corev1.PodSpec{Affinity: affine("a", "b")}, "flexible"},
		{"selector and affinity meet", corev1.PodSpec{NodeSelector: a, Affinity: affine("a", "b")}, "a"},
		{"contradiction", corev1.PodSpec{NodeSelector: a, Affinity: affine("b")}, "none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := zoneOf(&corev1.Pod{Spec: tt.spec}); got != tt.want {
				t.Errorf("zone is %q, want %q", got, tt.want)
			}
		})
	}
}
