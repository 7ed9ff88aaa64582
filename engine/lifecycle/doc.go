// Package lifecycle decides what happens next to one NodeClaim.
//
// Next looks at a claim and at the nodes that carry its provider ID, and says which conditions the claim has and what
// is to be done: launch, register, initialize, give up, drain, end the instance, let go. It does none of it. The
// package promises
//
//   - no memory: everything follows from the View, so a controller that was killed at any moment asks again and goes on;
//   - no clock: time is View.Now, and Judgement.Requeue says when time alone would change the answer;
//   - one order: launch before registration before initialization, and a claim that is being deleted only ever ends.
//
// The other questions about one claim are answered here too: may it be consolidated (Consolidatable), has it drifted
// (Drift), has it expired (Expiry), when did pods last come or go (LastPodEvent), and is its node what was promised
// (Shortfall). testdata/scenario shows each rule by an example.
package lifecycle
