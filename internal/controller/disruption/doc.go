// Package disruption carries out what engine/disrupt decides.
//
// A node is disrupted in two steps. First it is marked: a condition on its claim and a taint on the node announce the
// disruption. Then, once the watch had time to deliver pods that were bound before the taint, the decision is checked again:
// if it still holds the claim is deleted, else the marks are removed. The objects show all that is under way. So after a
// restart each mark is acted on or removed, and no state in memory is needed.
package disruption
