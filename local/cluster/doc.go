// Package cluster starts, inspects and stops a local Kubernetes cluster: real
// control plane, hollow nodes, an emulated AWS and the controller, all on
// loopback.
//
// The parts are processes that outlive the command that started them. Up is
// idempotent: it leaves healthy parts alone and starts parts that have ended
// again on their ports. Down signals only processes that Up started, which it
// identifies by process ID and start time.
package cluster
