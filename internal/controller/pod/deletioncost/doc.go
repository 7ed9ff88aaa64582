// Package deletioncost writes the deletion costs of pods that engine/deletioncost computes. If the feature gate is off, it
// removes the costs that it has written before.
//
// It has no state in memory: an annotation marks the pods whose cost it has written.
package deletioncost
