// Package disruption carries out what engine/disrupt decides.
//
// A node goes in two steps. First it is marked: a condition on its claim and a taint on the node say what is about to
// happen. Then, once the watch had time to show what was scheduled before the taint took hold, the decision is looked at
// again: the claim is deleted if it still holds, else the mark is taken back. All that is under way can be read off the
// objects, so a restart finishes or takes back each mark, and nothing waits in memory.
package disruption
