// Package disruption executes the decisions of engine/disrupt.
//
// A node is disrupted in two steps. First it is marked: a condition on its claim and a taint on the node announce the
// disruption. Then, once the watch had time to deliver pods that were bound before the taint, the decision is checked
// again: if it still holds the claim is deleted, else the marks are removed. All information about a disruption is in
// the objects. So after a restart, the disruption of each marked node is completed or rolled back, without state in
// memory.
package disruption
