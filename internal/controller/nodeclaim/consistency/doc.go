// Package consistency compares a node's capacity with the capacity that the provider expected. If it is much smaller, some of the
// planned pods do not fit. Then the claim gets a condition and an event. There is no other action.
package consistency
