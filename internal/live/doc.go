// Package live reads a running cluster once, so that a command can show what would be decided there.
//
// It only lists objects and passes them to package observe, as the controller does with those it watches. So both have the
// same snapshot. Kinds that the cluster does not have are left out. Any other failed list is an error, since a plan for a
// part of the cluster would be wrong.
package live
