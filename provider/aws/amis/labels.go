package amis

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/require"
)

// Labels are those of a node, or of all that a type may become.
type Labels struct{ require.Set }

// Suit reports whether such a node meets what an image asks for.
func (l Labels) Suit(asked []corev1.NodeSelectorRequirement) bool {
	_, ok := l.Compatible(require.FromSelector(asked), nil)
	return ok
}
