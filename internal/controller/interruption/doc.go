// Package interruption carries out what the engine decides about notices of interruptions: claims are deleted, nodes are
// cordoned, and offerings without capacity are avoided.
//
// There is one Controller for each source of a provider's notices. A source is acknowledged only after all that its notices
// call for was tried; what failed is delivered again. A claim that is deleted counts as going from that moment, so that
// provisioning makes room for its pods at once, while its node is drained.
//
// Nothing is kept but which replacements are awaited, for a metric; that may be lost.
package interruption
