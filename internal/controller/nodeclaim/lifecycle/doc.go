// Package lifecycle carries out the life cycle of claims: launch, registration, initialization, drain, termination of the
// instance, and removal of the finalizer.
//
// engine/lifecycle decides the actions; this package carries them out and writes the claim's status once a pass. A pass may
// be interrupted anywhere: all of its actions are idempotent, and a repeated launch returns the same instance.
//
// A launch that hangs delays its own claim only. It is cancelled when the claim is deleted or its time is up. The only state
// in memory is the results of launches that the cache may not have yet. If it is lost, the provider is called once more.
package lifecycle
