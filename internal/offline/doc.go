// Package offline builds a cluster from manifests and returns the decisions for it, without API server and cloud.
//
// It does what a cluster would do with the manifests: workloads create pods, defaults and priorities are set, and nodes
// count as registered and initialized. Snapshot, solver and the check of plans are those of the controller.
//
// Instance types and their prices are read from a file or from the catalogue in the binary.
package offline
