// Package move decides in which order evicted pods go to the nodes that a command planned for them.
//
// kube-scheduler does not use the plan: it spreads evicted pods over all free capacity, until the plan is no longer
// feasible. So if the pods of disrupted nodes have several destinations, these are opened one after another: first
// existing nodes, then replacements. Destinations whose pods all belong to the same ReplicaSet are opened together, because
// these pods are equal. Until it is open, a destination is reserved by a taint, and an annotation of its claim
// names the claims whose pods it will receive. Pods are evicted when their destination is open. See docs/staged-moves.md.
//
// Begin with StageOf, which returns the nodes to open next. Destinations returns the nodes to reserve. Assignments
// recomputes the destination of each pod after a restart. SurplusReplacements returns replacements that are no longer
// needed.
package move
