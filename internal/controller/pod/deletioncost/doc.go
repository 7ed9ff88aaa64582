// Package deletioncost writes the deletion costs of pods that engine/deletioncost computes. If the feature gate is off, it
// removes the costs that it has written before.
//
// An annotation marks the pods whose cost it has written. Only the pods whose last write failed are in memory. If they are
// lost, one more pass tries them in the order of their costs.
package deletioncost
