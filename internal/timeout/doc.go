// Package timeout creates contexts with a timeout by a clock.Clock.
//
// context.WithTimeout uses the machine's clock, which tests cannot set. Only this package starts a goroutine for a
// timeout. The cancel function ends it.
package timeout
