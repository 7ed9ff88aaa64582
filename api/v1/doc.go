// Package v1 holds the karpenter.sh/v1 API: NodePool, which says what nodes a
// cluster may have, and NodeClaim, which asks for one of them.
//
// The objects are Karpenter's, to the letter: field names, defaults, labels,
// annotations, conditions. Names of Go types and fields are part of the
// contract too, because the drift hash of a NodePool (see Hash) takes them in.
//
// Beside the types stands what can be said about them without a cluster: hash,
// runtime validation, the rules about labels. All of it is pure.
//
// +kubebuilder:object:generate=true
// +groupName=karpenter.sh
package v1
