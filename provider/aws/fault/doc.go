// Package fault says what an AWS error means: gone, refused, out of capacity, slow down. It is the only place that knows
// error codes and texts; the rest of the provider asks questions.
package fault
