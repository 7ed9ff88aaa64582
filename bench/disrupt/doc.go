// Package disrupt measures engine/disrupt: time and memory of a full pass over a fleet, and the price of the fleet
// after it.
package disrupt
