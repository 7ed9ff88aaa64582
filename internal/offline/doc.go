// Package offline plans for a cluster made of manifests and returns what would happen, without API server and cloud.
//
// It does what a cluster would do with the manifests: workloads become pods, defaults and priorities are filled in, nodes
// count as registered and initialized. The rest is that of the controller: the same snapshot, the same solver, the same check
// of its plan.
//
// Instance types come from a file or from the table in the binary, so prices are as old as those are.
package offline
