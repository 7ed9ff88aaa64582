// Package world is the surroundings of a claim controller in a test: an API server in memory with the indexes that
// the controllers read, a clock that moves by hand, a cloud, and records of events and metrics.
package world
