// Package e2e measures the whole on a real API server: how long it takes until pods run on new nodes, how many nodes that
// takes, and how fast the fleet gets cheap again when most pods are gone.
//
// It drives the programs that users run, bin/karpenter-local and bin/karpenter, and watches the API server as anybody could.
// Nodes are without machines (the kwok provider), so what is measured is Karpenter and Kubernetes. A run is bounded: it takes
// its cluster down when it is done, when its time is up, and when it is interrupted.
package e2e
