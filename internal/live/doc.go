// Package live reads a running cluster once (Read) or continuously (Watch), for commands that show decisions for it.
//
// It lists objects and passes them to package observe, as the controller does with the objects that it watches. So the
// command and the controller have the same snapshot. Kinds that the cluster does not serve are ignored. Any other
// failed list is an error, because a plan for a part of the cluster would be wrong.
package live
