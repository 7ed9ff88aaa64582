// Package kwok implements cloud.Provider without a cloud: its nodes exist only in the API server. Node class, instance
// types, labels and errors are those of upstream Karpenter's kwok provider (docs/kwok.md).
//
// An instance is the Node object itself. It has its claim's name and an owner reference to the claim. So a repeated
// launch finds the node of the first one, and Kubernetes deletes a node whose claim does not exist any more. If a
// node is to be created some time after the launch, that time is stored on the claim. The use of reservations is
// counted from nodes and claims.
//
// The program kwok acts as kubelet for these nodes: it manages nodes with the label kwok-partition=a.
package kwok
