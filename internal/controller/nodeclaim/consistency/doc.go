// Package consistency compares what a node reports with what the provider promised of it. A node that is much smaller
// takes fewer pods than were planned for it: that is told, on the claim and as an event, and nothing else is done
// about it.
package consistency
