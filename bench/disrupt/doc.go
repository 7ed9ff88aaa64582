// Package disrupt measures engine/disrupt: time and memory of a full pass over a fleet, and what a fleet costs after it.
package disrupt
