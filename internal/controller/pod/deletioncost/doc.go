// Package deletioncost writes the deletion cost of pods that engine/deletioncost decides. Without the feature gate it removes
// what it has written before.
//
// It has no state: which values are its own is in the annotations of the pods.
package deletioncost
