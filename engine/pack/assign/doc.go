// Package assign decides, class by class, which pods go to existing nodes and in which topology domains the others get
// new nodes. The remaining problem can then be packed regardless of topology across nodes.
//
// Classes are placed in the order of compile.Problem.Classes, stage by stage. In each stage pods go to existing nodes
// first (package existing). The other pods get a Choice of domains: the least crowded domains that the rules allow,
// and of those the cheapest. Pods of a class with the same choice form a Segment. Pods that must share a node form
// bundles (bundle.go). A class whose affinity depends on pods that are not placed yet is tried again until no more
// pods can be placed.
//
// Two terms are used throughout. DaemonAffinity is DaemonSet pods on a new node that meet the required affinity of a class. A
// placement is late (Late) if new nodes are already planned.
//
// An Assignment never moves a pod that it has placed. If limits or minValues leave out pods that have a domain,
// package pack makes another Assignment with quotas (quota.go).
//
// Begin with assign.go, then choice.go.
package assign
