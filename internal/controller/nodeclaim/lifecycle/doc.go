// Package lifecycle executes the life cycle of claims: launch, registration, initialization, deletion of the node (which
// package termination drains), termination of the instance, and removal of the finalizer.
//
// engine/lifecycle decides the actions. This package executes them and writes the claim's status once per reconcile, which is
// called a pass. A crash may interrupt a pass at any time, because all actions are idempotent and a repeated launch returns the
// same instance.
//
// A slow launch delays only its own claim. It is cancelled when the claim is deleted, or at the launch timeout. Only results of
// launches that may not be in the cache yet are in memory. If they are lost, the provider is called once more.
package lifecycle
