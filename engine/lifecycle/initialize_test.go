package lifecycle

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// A pass may read a node from before the last write and repeat that write. The result is the same.
func TestInitializeTwice(t *testing.T) {
	own := corev1.Taint{Key: "example.com/team", Effect: corev1.TaintEffectNoSchedule}
	node := &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{own}}}
	i := Initialize{
		Node: "n", Labels: map[string]string{apiv1.NodeInitializedLabelKey: "true"},
		AddTaints: []corev1.Taint{apiv1.StagedMoveNoScheduleTaint()},
	}
	for range 2 {
		i.Apply(node)
		if got := node.Spec.Taints; len(got) != 2 || got[0] != own || got[1] != apiv1.StagedMoveNoScheduleTaint() {
			t.Errorf("taints are %v", got)
		}
	}
	if node.Labels[apiv1.NodeInitializedLabelKey] != "true" {
		t.Errorf("labels are %v", node.Labels)
	}
}
