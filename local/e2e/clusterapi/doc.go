// Package clusterapi tests the provider of Cluster API on a local cluster: a control plane, Cluster API's own controllers, hollow
// machines and the controller. The local cluster is management and workload cluster.
//
//	go test ./e2e/clusterapi                      needs bin/ (make build)
//	KARPENTER_LONG=1 go test ./e2e/clusterapi     the long ones too
//	go test -short ./e2e/clusterapi               skips it all
package clusterapi
