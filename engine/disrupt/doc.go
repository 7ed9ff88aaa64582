// Package disrupt decides which nodes are disrupted, and what replaces them.
//
// It is a pure function of the Snapshot: no clock and no client, and its work is bounded by counts. Every node that Karpenter
// manages ends with a verdict: a command removes it, with what that saves, or it is blocked, with the rule that keeps it and
// what that costs.
//
// Read it in this order:
//
//   - Decide (decide.go): the methods and their order. Forced methods come first. Voluntary ones take turns in using budgets.
//   - problem: the Snapshot compiled, with a Candidate for every node; and the State that methods take and return. A State is
//     the cluster as the commands so far will leave it, and what is left of the budgets.
//   - budget: disruption budgets of NodePools and PodDisruptionBudgets. They count for all commands of a decision together.
//   - methods: repair, expiry, emptiness, drift, and the size of static NodePools.
//   - consolidate: nodes whose pods cost less elsewhere. A proposal is made, priced, improved and accepted.
//   - move: how evicted pods get to their new nodes, stage by stage, while commands are carried out.
//   - status: what nodes and claims say about a disruption that is under way.
//   - Revalidate (revalidate.go): whether marked nodes may still be deleted.
//
// What it takes to remove nodes is the answer of the packer, on a fork of the cluster without them in which only their pods
// are pending. Pods that are pending anyway are placed before and keep that room. As commands are accepted the cluster moves
// on, so that no room is used twice and a node that is to receive pods stays.
//
// A node is empty if none of its pods needs another place. Pods of DaemonSets and finished pods do not keep a node. Upstream
// counts nodes whose pods all have negative cost as empty too; this package does not, because those pods run all the same.
//
// docs/disruption.md has the formulas.
package disrupt
