package amis

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/require"
)

// Labels are the labels of a node, or the labels that nodes of an instance type may have.
type Labels struct{ require.Set }

// Suit reports whether the labels meet the requirements of an image.
func (l Labels) Suit(asked []corev1.NodeSelectorRequirement) bool {
	_, ok := l.Compatible(require.FromSelector(asked), nil)
	return ok
}
