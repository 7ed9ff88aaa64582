// Package sample generates clusters of any size and streams of changes of them, for tests and benchmarks of the dashboard
// and for its demonstration without a cluster.
//
// A seed determines the cluster and the changes. Objects are those that a controller would watch: NodePools, NodeClaims,
// nodes and pods in an observe.Cluster. The decisions about them are drawn, not decided.
package sample
