// Package interruption executes the decisions of the engine about notices of interruptions: it deletes NodeClaims,
// cordons nodes, and marks offerings without capacity as unavailable.
//
// There is one Controller for each source of a provider's notices. A source is acknowledged only after all actions for
// its notices were tried; failed ones are delivered again. Once a NodeClaim is deleted, provisioning launches nodes for
// its pods while they are drained.
//
// The only state in memory is the list of interruptions without a replacement, for a metric; it may be lost.
package interruption
