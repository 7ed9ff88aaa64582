// Package consistency compares a node's capacity with that which the provider expected. A node that is much smaller
// takes fewer pods than were planned for it. That is reported on the claim and as an event, and nothing else is done
// about it.
package consistency
