// Package cluster starts, inspects and stops a local Kubernetes cluster: real
// control plane, hollow nodes, an emulated AWS and the controller, all on
// loopback.
//
// The parts are processes of their own that outlive the command that started
// them. Up is idempotent: what is healthy is left alone, what is dead is
// started again on the port it had. Down signals only processes that Up
// started, known by id and time of birth.
package cluster
