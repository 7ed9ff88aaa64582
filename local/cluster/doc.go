// Package cluster starts, inspects and stops a local Kubernetes cluster on loopback: a real control plane, hollow
// nodes, an emulated AWS and the controller.
//
// The parts are processes that outlive the command that started them. Up is idempotent: it does not change healthy
// parts, and restarts parts that have ended on their old ports. Down signals only processes that Up started, which it
// identifies by process ID and start time.
package cluster
