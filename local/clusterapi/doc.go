// Package clusterapi runs Cluster API on the local cluster: its own controllers of Clusters, MachineDeployments, MachineSets and
// Machines (core.go), and hollow providers of infrastructure and bootstrap (hollow.go). A hollow machine becomes a node without
// a kubelet after a delay, which package hollow keeps alive. The ConfigMap hollow-infrastructure makes machines fail.
//
// The CRDs of Cluster API are not in this repository. The build copies them from its Go module to bin/cluster-api.
package clusterapi
