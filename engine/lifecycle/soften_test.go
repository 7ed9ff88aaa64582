package lifecycle

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// soften gives the unregistered taint the effect NoSchedule, so that it evicts no pods. A node without the taint gets none, and
// a node never has it twice. Other taints stay.
func TestSoften(t *testing.T) {
	other := corev1.Taint{Key: "team", Value: "blue", Effect: corev1.TaintEffectNoExecute}
	hard := apiv1.UnregisteredNoExecuteTaint()
	soft := hard
	soft.Effect = corev1.TaintEffectNoSchedule
	for _, tt := range []struct {
		name       string
		have, want []corev1.Taint
	}{
		{name: "closed", have: []corev1.Taint{hard, other}, want: []corev1.Taint{other, soft}},
		{name: "softened before", have: []corev1.Taint{other, soft}, want: []corev1.Taint{other, soft}},
		{name: "closed in both ways", have: []corev1.Taint{soft, hard, other}, want: []corev1.Taint{other, soft}},
		{name: "open", have: []corev1.Taint{other}, want: []corev1.Taint{other}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			node := &corev1.Node{Spec: corev1.NodeSpec{Taints: tt.have}}
			soften(node)
			if diff := cmp.Diff(tt.want, node.Spec.Taints); diff != "" {
				t.Error(diff)
			}
		})
	}
}
