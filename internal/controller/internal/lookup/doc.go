// Package lookup finds the NodeClaims of nodes and the nodes of NodeClaims, which have equal provider IDs. It ignores
// NodeClaims whose node class is of another provider.
//
// It reads through the manager's field indexes, which the composition root sets up.
package lookup
