// Package ttl keeps values for a while. Time comes from a clock, so tests and the simulator decide when it passes; there
// is no goroutine that cleans up: what has expired is dropped when the cache is next written to.
package ttl
