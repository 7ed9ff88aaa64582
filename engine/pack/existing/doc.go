// Package existing places pods on capacity that exists or is in flight.
//
// A Placement is where pods are so far: which are on which node, what room is left there, and how many pods each topology
// group counts. Nominated pods keep their node while they fit there. All other pods are placed first fit, in the order of
// compile.Problem.Nodes. Where few pods are left over, pods that are nominated to a node but not bound may be sent to
// another node to make room (move.go).
//
// Begin with placement.go.
package existing
