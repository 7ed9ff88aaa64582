// Package status reads from nodes and claims how far a disruption has come: what is marked, why, and what comes in its place.
//
// All of it is on the objects, so it does not matter which process wrote it.
package status
