// Package disruption executes the decisions of engine/disrupt: it deletes NodeClaims and creates those that replace them.
//
// A node is disrupted in two steps. First it is marked: a condition on its NodeClaim and a taint on the node announce the
// disruption. After the watch had time to deliver pods that were bound before the taint, and after the replacements are
// initialized, the decision is checked again. If it still holds, the NodeClaim is deleted, otherwise the marks are removed.
//
// The input is a snapshot of the cluster. The outputs are writes to NodeClaims and Nodes through internal/act, and events,
// metrics, log lines and the decision log. One Reconcile is called a pass:
//
//  1. interval.go: a pass is omitted if the inputs of the last decision have not changed for a while.
//  2. finish.go: nodes that earlier passes marked are deleted, or their disruption is rolled back, or they wait.
//  3. controller.go: engine/disrupt decides. Commands that violate a rule of engine/verify are dropped.
//  4. begin.go: the nodes of each command are marked, and its replacements are created. repair.go has the commands that have
//     no marks, and static.go the launches for static NodePools.
//  5. surplus.go: replacements of commands that were rolled back are deleted, unless pods need them.
//
// All data about a disruption are in the objects. So after a restart, the disruption of each marked node is completed or rolled
// back without state in memory.
//
// Functions whose names begin with tell publish events, set metrics and write log lines. They send no writes to NodeClaims or
// Nodes and change no state on which decisions depend.
package disruption
