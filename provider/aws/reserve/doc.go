// Package reserve finds the capacity reservations, capacity blocks and interruptible reservations that a node class selects,
// and counts how many instances each has left.
//
// Counts are read from EC2 once a minute and updated in between: a launch decrements a count, the termination of an
// instance increments it, and a refusal sets it to zero. Counts are a cache and may be lost.
package reserve
