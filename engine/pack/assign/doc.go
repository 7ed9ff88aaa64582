// Package assign decides, class by class, which pods go to existing nodes, and in which topology domains the other pods
// get new nodes. After that, new nodes can be packed without regard to topology keys that nodes share.
//
// Package compile defines the input. A class is equal pods. A stage is the requirements of a class with some of its
// preferences, fewer than in the stage before. A rule is a constraint on other pods, and a group is the pods that a rule
// counts, by domain.
//
// Classes are placed in the order of compile.Problem.Classes, stage by stage. In each stage, pods first go to existing
// nodes (package existing). The other pods get a Choice of domains: the least crowded domains that the rules allow, and
// of those the cheapest. Pods of a class with the same Choice form a Segment. Pods that must share a node form bundles
// (bundle.go). A class with affinity to unplaced pods is tried again after these are placed.
//
// An Assignment does not move a pod that it has placed, except some nominated pods (existing/move.go). If limits or
// minValues then leave no node for some pods, package pack makes another Assignment with quotas (Quotas), or without
// these pods.
//
// Begin with assign.go, then choice.go.
package assign
