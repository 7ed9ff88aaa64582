// Package disrupt decides which nodes are disrupted, and what replaces them.
//
// Its input is a Snapshot and a Cursor. Its output is a Decision. Each command in it lists the nodes to remove, their
// replacements, and the saving. For every other managed node, it has the rule that keeps the node, and the price that
// this wastes. Decide is a pure function whose work is bounded by counts and not by time.
//
// Read it in this order:
//
//   - Decide (decide.go): the methods and their order. Repair and expiry come first. The order of the voluntary
//     methods rotates after each decision with commands, so that none of them always uses the budgets first.
//   - problem: the Snapshot compiled, with a Candidate for every managed node of a NodePool; and the State that methods
//     take and return. A State is the cluster after the commands so far, and what is left of the budgets.
//   - budget: disruption budgets of NodePools and PodDisruptionBudgets. They count for all commands of a decision together.
//   - methods: repair, expiry, emptiness, drift, and the size of static NodePools.
//   - consolidate: nodes whose pods cost less elsewhere. A proposal is made, priced, improved and accepted.
//   - move: how evicted pods get to their new nodes, stage by stage, while commands are executed.
//   - status: reads the state of a disruption in progress from nodes and claims.
//   - Revalidate (revalidate.go): whether marked nodes may still be deleted.
//
// The packer computes what the removal of nodes requires: it plans the cluster without them, with only their pods
// pending (a what-if). Pods that are pending already are placed first. After each accepted command the cluster includes
// its effects, so no capacity is used twice, and a node that will receive pods is not removed.
//
// A node is empty if none of its pods needs another place. DaemonSet pods and finished pods do not count. Unlike
// upstream, a node whose pods all have negative eviction cost is not empty, because these pods run.
//
// docs/disruption.md has the rules, docs/consolidation.md the formulas.
package disrupt
