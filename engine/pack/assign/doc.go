// Package assign settles, class by class, which pods go onto nodes that exist and in which topology domains the others get
// new nodes, so that what remains can be packed without a look at topology.
//
// Classes are taken in the order of compile.Problem.Classes and stage by stage. In each stage pods go to existing nodes first
// (package existing). For the others a Choice of domains is made: the least crowded domains that the rules allow, of equals
// the cheapest. Pods of a class with the same choice are a Segment. Pods that must share a node are tied into bundles
// (bundle.go). Classes that wait for the pods of others, by affinity, have further turns until no pod finds a place.
//
// An Assignment takes nothing back. Where limits or minValues leave out pods that were given a domain, package pack makes
// another Assignment with quotas (quota.go).
//
// Begin with assign.go, then choice.go.
package assign
