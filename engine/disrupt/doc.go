// Package disrupt decides which nodes may go, which must, and what comes in their place.
//
// It is a pure function of the Snapshot, as packing is: no clock, no client, and its work is bounded by counts. Every node
// of ours ends with a verdict: a command takes it, with what that saves, or it is blocked, with by what and what that costs.
// Budgets are kept across all commands of one decision: what one takes, the next no longer has. So are the disruption
// budgets of pods.
//
// What it takes to do without some nodes is asked of the packer, on a fork of the Snapshot where they are gone and only
// their pods wait. Pods that wait anyway are placed first, and take the room they will get; they bend no other answer. As
// commands are found the fork moves on, so that no room is given away twice, and a node that is to receive pods stays.
//
// The methods: nodes beyond repair and expired ones, which ask nobody; then emptiness, drift and consolidation, which take
// turns to have the first call on budgets. Consolidation is by price: N nodes become M, none included. A move must pay back,
// does not undo another, and never replaces a node by its equal. docs/disruption.md has the formulas.
//
// A node is empty when none of its pods would come back elsewhere; daemons and finished pods do not hold a node. Karpenter
// counts nodes whose pods all have negative cost as empty too; this package does not, because those pods run all the same.
package disrupt
