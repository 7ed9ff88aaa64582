// Package disrupt decides which nodes may go, and which must not.
//
// It is a pure function of the Snapshot, as packing is. Every node of ours that is looked at ends with a verdict: it goes,
// or it is blocked and by what. Budgets are kept across all commands of one decision: what one takes, the next no longer
// has.
//
// Decided so far: emptiness. A node is empty when none of its pods would come back elsewhere; daemons and finished pods do
// not hold a node. Karpenter counts nodes whose pods all have negative cost as empty too; this package does not, because
// those pods run all the same.
package disrupt
