// Package diagnose finds out why a node does not join: it reads the console of instances that are late, and says on the claim
// what stands in the way and what to do. Nothing is kept but in the claim's condition.
package diagnose
