// Package live reads a running cluster once, so that a command can show what would be decided there.
//
// It only lists. What it reads goes through observe, like what the controller watches, so both see the same snapshot.
// Kinds that the cluster does not have are left out; any other refusal is an error, since a plan made of half a cluster
// would be wrong.
package live
