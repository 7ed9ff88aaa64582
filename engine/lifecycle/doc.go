// Package lifecycle decides the next step in the life of one NodeClaim: launch, registration, initialization, deletion
// and termination.
//
// Begin with Next. Its input is a View: the claim, the nodes with its provider ID, and what the provider
// reported. Its output is a Judgement: the actions to execute and the conditions to set. Next executes nothing, and it
// guarantees the following.
//
//   - It keeps no state: a controller that was restarted calls it again and continues.
//   - It reads no clock: the time is View.Now, and Judgement.Requeue is when time alone would change the result.
//   - The stages have one order: launch, registration, initialization. For a claim that is being deleted, only termination
//     continues.
//
// Other functions answer one question about a claim: Consolidatable, Drift, LastPodEvent, and Shortfall (does
// the node report the promised capacity?). testdata/scenario shows each rule by an example.
package lifecycle
