// Package repair decides whether a node is unhealthy and what repairs it: a reboot or a replacement.
//
// Begin with Compile: it checks the policies of a provider and makes them ready for use. Policies.Matches then returns
// the policies that match the conditions of a node, and Decide merges those whose toleration has passed into one
// model.Repair.
//
// History is what was already done for a claim. It is stored in an annotation of the claim, so it survives a restart.
// Next is the next step of a reboot in progress.
package repair
