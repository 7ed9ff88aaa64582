// Package deletioncost writes the deletion costs of pods that engine/deletioncost computes. Without the feature gate it
// removes those that it has written before.
//
// It has no state in memory: an annotation marks the pods whose cost it has written.
package deletioncost
