// Package v1 holds the karpenter.sh/v1 API: NodePool, which configures the
// nodes that may be launched, and NodeClaim, the request for one node.
//
// The objects are exactly those of upstream Karpenter: field names, defaults,
// labels, annotations, conditions. Names of Go types and fields are part of the
// contract too, because the drift hash of a NodePool depends on them (see
// Hash).
//
// The package also has the functions on these types that need no cluster: hash,
// runtime validation, label rules. They are pure.
//
// +kubebuilder:object:generate=true
// +groupName=karpenter.sh
package v1
