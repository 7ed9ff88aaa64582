// Package e2e measures the whole on a real API server: how long it takes until pods run on new nodes, how many nodes that
// takes, and how fast the fleet gets cheap again when most pods are gone.
//
// It drives the programs that users run, bin/karpenter-local and bin/karpenter, and watches the API server as any client.
// Nodes have no machines (the kwok provider), so it measures Karpenter and Kubernetes alone. A run takes its cluster down
// when it is done, when its time is up, and when it is interrupted.
package e2e
