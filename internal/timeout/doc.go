// Package timeout creates contexts with a timeout by a clock.Clock.
//
// context.WithTimeout uses the machine's clock, which tests cannot set. Each context has a goroutine that waits for its
// timer. It ends when the context is done, so callers must call the cancel function.
package timeout
