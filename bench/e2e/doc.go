// Package e2e measures controllers on a real API server: the time until pods run on new nodes, the number of these
// nodes, and how fast the price falls after most pods were deleted.
//
// It runs the programs of users, bin/karpenter-local and bin/karpenter, and watches the API server like any client.
// Nodes have no machines (the kwok provider), so it measures Karpenter and Kubernetes alone. A run takes its cluster
// down when it is done, when its time is up, and when it is interrupted.
package e2e
