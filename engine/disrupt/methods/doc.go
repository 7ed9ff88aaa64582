// Package methods decides about the removal of nodes for reasons other than price: emptiness, drift, expiry, repair,
// and the replicas of static NodePools.
//
// A method takes a State and candidates: the result of State.Executable or State.OnlyProposed for its reason. It returns a new
// State with commands, and with a verdict for each candidate to which its reason applies but which must stay. Begin with
// Empty, the simplest.
package methods
