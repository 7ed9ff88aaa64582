// Package interruption carries out what the engine decides about notices of interruptions: claims are deleted, nodes are
// cordoned, and offerings without capacity are avoided.
//
// There is one Controller for each source of a provider's notices. A source is acknowledged only after all actions for its
// notices were tried; failed ones are delivered again. Once a claim is deleted, provisioning plans for its pods at once, while
// its node is drained.
//
// The only state is which replacements are awaited, for a metric; it may be lost.
package interruption
