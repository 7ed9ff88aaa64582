package cloud

import apiv1 "github.com/karpenter-go/karpenter/api/v1"

// A Named is a Provider that consists of several providers. Metrics of its calls have the name of the provider to
// which a call goes.
type Named interface {
	Provider
	// NameOf returns the name of the provider to which the kind of the node class belongs.
	NameOf(ref *apiv1.NodeClassReference) string
}
