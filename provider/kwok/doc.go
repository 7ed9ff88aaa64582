// Package kwok creates nodes that exist only in the API server, so that the whole of Karpenter runs without a cloud. It
// behaves as upstream's provider of that name: same node class, instance types, labels and errors (docs/kwok.md).
//
// An instance is the Node object itself. It has its claim's name and an owner reference to the claim. So a second launch finds
// the node of the first, and Kubernetes deletes a node whose claim is gone. The package keeps no state. When a node is to
// appear later than its claim is launched, that time is stored on the claim.
//
// The program kwok acts as kubelet for these nodes: it manages nodes with the label kwok-partition=a.
package kwok
