package cloud

import apiv1 "github.com/karpenter-go/karpenter/api/v1"

// A Named is a Provider that is made of several, whose calls are measured by the name of the one that they go to.
type Named interface {
	Provider
	// NameOf returns the name of the provider of the node class.
	NameOf(ref *apiv1.NodeClassReference) string
}
