// Package kwok makes nodes that exist only in the API server, so that the whole of Karpenter runs without a cloud. It
// behaves as upstream's provider of that name: same node class, instance types, labels and errors; docs/kwok.md tells.
//
// An instance is the Node object itself. It bears its claim's name and is owned by the claim, so a launch happens once: a
// second one finds the node of the first, and a node whose claim is gone without a trace is collected by Kubernetes. The
// package keeps no state. When a node is to appear later than its claim is launched, that moment is noted on the claim.
//
// Somebody has to play the kubelet of these nodes: kwok, which looks after nodes with the label kwok-partition=a.
package kwok
