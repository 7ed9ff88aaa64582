// Package world is a test environment for controllers of NodeClaims: a fake API server with field indexes, a fake
// clock, a fake cloud, and records of events and metrics.
package world
