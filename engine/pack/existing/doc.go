// Package existing places pods on existing nodes and on nodes in flight (NodeClaims that are not launched yet).
//
// A Placement records which pods are on which node, the free capacity of each node, and how many pods each topology
// group counts. Pods stay on the node to which they are nominated, or for which they were planned, if they fit. All other
// pods go to the first node on which they fit, in the order of compile.Problem.Nodes. If there are only few other pods,
// nominated pods may be moved to other nodes, so that the other pods fit (move.go).
//
// Begin with placement.go.
package existing
