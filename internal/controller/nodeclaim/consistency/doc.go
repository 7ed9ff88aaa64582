// Package consistency compares a node's capacity with the one that the provider expected. If it is much smaller, some
// of the pods planned for the node do not fit. That is reported as a condition of the claim and an event, without
// another action.
package consistency
