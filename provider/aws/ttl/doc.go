// Package ttl is a cache whose values expire. Time comes from a clock, so that tests and the simulator control it. There is
// no goroutine that cleans up: expired values are dropped when the cache is next written to.
package ttl
