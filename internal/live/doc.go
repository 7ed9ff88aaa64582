// Package live reads a running cluster once, for commands that show decisions for it.
//
// It lists objects and passes them to package observe, as the controller does with the objects that it watches. So both
// have the same snapshot. Kinds that the cluster does not have are ignored. Any other failed list is an error, because
// a plan for a part of the cluster would be wrong.
package live
