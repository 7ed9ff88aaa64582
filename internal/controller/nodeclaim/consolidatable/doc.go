// Package consolidatable keeps two conditions of claims up to date that disruption decides by: Consolidatable, when
// consolidateAfter has passed since pods came or went, and Drifted, when the claim is no longer what its pool and
// node class ask for.
//
// Both are decided by engine/lifecycle and the provider. A drift that nobody is told of is found within five minutes.
package consolidatable
