// Package world is a test environment for claim controllers: a fake API server with the indexes that the controllers
// read, a fake clock, a fake cloud, and records of events and metrics.
package world
