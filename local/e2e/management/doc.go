// Package management tests the provider of Cluster API with two clusters: Machines are objects of a management cluster, and
// their nodes join a workload cluster, where the controller and the pods are. The controller has no more rights in the
// management cluster than docs/clusterapi.md says.
//
//	go test ./e2e/management         needs bin/ (make build)
//	go test -short ./e2e/management  skips it all
package management
