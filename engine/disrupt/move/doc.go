// Package move decides how evicted pods get to the nodes that a command planned for them.
//
// kube-scheduler does not know the plan. It spreads pods over all free capacity, until the plan no longer fits. So if the pods
// of disrupted nodes go to several nodes, these are opened one after another: first nodes that exist, then replacements. A
// node that is not open yet is reserved by a taint, and its claim says for whose pods. Pods stay where they are, and run,
// until their destination is open. See docs/disruption.md, Staged moves.
//
// StageOf returns which node is opened next. Destinations returns the nodes that have to be reserved. Assignments recomputes
// the destination of each pod after a restart. SurplusReplacements returns replacements that are no longer needed.
package move
