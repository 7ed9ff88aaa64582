// Package disruption executes the decisions of engine/disrupt.
//
// A node is disrupted in two steps. First it is marked: a condition on its claim and a taint on the node announce the disruption.
// After the watch had time to deliver pods that were bound before the taint, the decision is checked again. If it still holds,
// the claim is deleted, otherwise the marks are removed. All data about a disruption are in the objects. So after a restart, the
// disruption of each marked node is completed or rolled back without state in memory.
package disruption
