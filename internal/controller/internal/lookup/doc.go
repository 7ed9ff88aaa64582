// Package lookup finds the claims of nodes and the nodes of claims: they belong together by provider ID, and only
// claims of the provider's own node class kinds are looked at.
//
// It reads through the manager's field indexes, which the composition root sets up.
package lookup
