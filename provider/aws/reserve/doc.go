// Package reserve finds the capacity reservations, capacity blocks and interruptible reservations that a node class selects,
// and counts how many instances each has left.
//
// Counts are read from EC2 once a minute and updated in between: a launch decrements one, the end of an instance increments
// it, and a refusal sets it to zero. They are a cache: what is lost is read again.
package reserve
