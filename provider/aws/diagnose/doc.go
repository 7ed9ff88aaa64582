// Package diagnose finds out why a node does not join: it reads the console of instances that are late, and writes the cause
// and what to do to a condition of the claim. It has no other state.
package diagnose
