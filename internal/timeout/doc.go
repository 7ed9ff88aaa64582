// Package timeout makes contexts that end by a clock.Clock.
//
// context.WithTimeout waits for the machine's clock, so that code that uses it cannot be driven by a test or a simulator.
// This is the one place that starts a goroutine for a timeout; the caller ends it by the cancel function.
package timeout
