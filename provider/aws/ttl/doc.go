// Package ttl has a cache whose values expire. The time is read from a clock that tests can set. There is no goroutine
// that cleans up: expired values are removed by the next Set.
package ttl
