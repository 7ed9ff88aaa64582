// Package live reads a running cluster once (Read) or continuously (Watch), for commands that show decisions for it.
//
// It passes the objects to package observe, as the controller does. So the command and the controller make snapshots in the
// same way. Read ignores kinds that the cluster does not serve. Any other failed list is an error, because a plan for a
// part of the cluster would be wrong.
package live
