// Package lifecycle executes the life cycle of claims: launch, registration, initialization, deletion of the node (which
// package termination drains), termination of the instance, and removal of the finalizer.
//
// engine/lifecycle decides the actions. This package executes them and writes the claim's status once per reconcile, which is
// called a pass (pass.go). The actions are in launch.go, join.go and end.go, and the write of the status is in status.go. A crash
// may interrupt a pass at any time, because all actions are idempotent and a repeated launch returns the same instance.
//
// A slow launch delays only its own claim. It is cancelled when the claim is deleted, or at the launch timeout.
//
// Running launches, their last results and failures, and the deletions by this controller are in memory (launches.go), because the
// cache may not have them yet. If they are lost, the provider may be called once more, and a failed launch is repeated without its
// delay.
package lifecycle
