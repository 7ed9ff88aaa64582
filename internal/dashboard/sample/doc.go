// Package sample generates clusters of any size and changes of them. It is for tests and benchmarks of the dashboard, and
// for a demonstration without a cluster.
//
// A seed determines the cluster and the changes. The objects are those that a controller would watch: NodePools,
// NodeClaims, nodes and pods in an observe.Cluster. With more than mostDecided nodes, the reasons why nodes are kept are not
// decisions of the engine.
package sample
