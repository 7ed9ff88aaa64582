// Package interruption executes the decisions of the engine about notices of interruptions: it deletes NodeClaims,
// cordons nodes, and marks offerings without capacity as unavailable.
//
// There is one Controller for each source of notices. The notices of a batch are acknowledged after all their actions were tried.
// Notices whose actions failed, or that came before the result of a launch, are delivered again. After a NodeClaim is deleted,
// provisioning launches nodes for its pods while they are drained.
//
// The list of interruptions without a replacement is in memory only. If it is lost, a metric lacks some observations.
package interruption
