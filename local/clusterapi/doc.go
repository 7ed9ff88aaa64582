// Package clusterapi runs Cluster API on the local cluster. core.go runs Cluster API's controllers of Clusters,
// MachineDeployments, MachineSets and Machines. hollow.go has hollow providers of infrastructure and bootstrap. After
// a delay, a hollow machine becomes a node without a kubelet, and package hollow updates the node as a kubelet would.
// The ConfigMap hollow-infrastructure makes machines fail.
//
// The CRDs of Cluster API are not in this repository. The build copies them from its Go module to bin/cluster-api.
package clusterapi
