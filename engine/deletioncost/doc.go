// Package deletioncost decides the deletion cost of pods, so that ReplicaSets that scale in remove pods from the nodes that
// can then be removed.
//
// The cost is the annotation controller.kubernetes.io/pod-deletion-cost. A ReplicaSet deletes the pods with the lowest cost
// first. The cost of a pod depends on its node alone:
//
//   - A node that is being removed comes first.
//   - Then come drifted nodes of NodePools that are not static, then the other nodes that may be consolidated. Within
//     each of these groups, nodes with the largest free share come first, in steps of a tenth. Within a step, the order
//     is fixed by a hash of the node name.
//   - Pods of other nodes get no cost.
//
// So a node that joins or leaves changes no cost of pods on other nodes.
//
// Pods with topology spread constraints get a cost only as long as the removal of all pods with a cost keeps maxSkew. See
// keepSpread.
//
// A value that Karpenter has not written is never changed. Karpenter recognizes its own value by a second annotation with
// the same value.
package deletioncost
