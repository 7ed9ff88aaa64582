// Package offline makes a cluster out of manifests, decides on it, and says what would happen: no API server, no cloud.
//
// What a cluster would have done to the manifests by itself is done here: workloads become pods, defaults and priorities are
// filled in, nodes count as registered and initialized. From there on everything is the controller's own: the same
// snapshot, the same solver, the same check of its plan.
//
// Instance types come from a file or from the table in the binary, so prices are as old as those are.
package offline
