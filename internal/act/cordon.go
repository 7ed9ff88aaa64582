package act

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// Cordon adds the disruption taint to the node object. changed is false if the node has the taint already. A taint with the same
// key and another effect or value is of another version of Karpenter and is replaced. Cordon sends nothing to the API server.
func Cordon(node *corev1.Node) (changed bool) {
	taint := apiv1.DisruptedNoScheduleTaint()
	if slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == taint.Key && t.Value == taint.Value && t.Effect == taint.Effect
	}) {
		return false
	}
	node.Spec.Taints = append(withoutDisrupted(node.Spec.Taints), taint)
	return true
}

func withoutDisrupted(taints []corev1.Taint) []corev1.Taint {
	return slices.DeleteFunc(taints, func(t corev1.Taint) bool { return t.Key == apiv1.DisruptedTaintKey })
}
