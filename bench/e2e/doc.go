// Package e2e measures controllers on a real API server: the time until pods run on new nodes, the number of these
// nodes, and how fast the price falls after most pods are deleted.
//
// It runs the programs of users, bin/karpenter-local and bin/karpenter, and watches the API server like any client.
// Nodes have no machines (the kwok provider), so only Karpenter and Kubernetes are measured. A run stops its cluster
// when it ends, when its time limit is reached, and when it is interrupted.
package e2e
