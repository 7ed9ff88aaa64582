// Package disruptionstatus keeps two conditions of claims up to date that disruption decides by: Consolidatable, when
// consolidateAfter has passed since pods came or went, and Drifted, when the claim is no longer what its pool and
// node class ask for.
//
// Both are decided by engine/lifecycle and the provider. Drift that no event announces is found within five minutes.
package disruptionstatus
