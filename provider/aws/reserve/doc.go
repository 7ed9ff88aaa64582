// Package reserve knows capacity that was paid for in advance: capacity reservations, capacity blocks and interruptible
// reservations, which of them a node class selects, and how many instances each still holds.
//
// Counts come from EC2 once a minute and are kept in between: a launch takes one, the end of an instance gives one back, a
// refusal means that none is left. They may be lost; the next list brings them again.
package reserve
