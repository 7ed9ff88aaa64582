// Package lookup finds the NodeClaims of nodes and the nodes of NodeClaims by their provider IDs, and the pods of nodes. Requests
// and Managed skip NodeClaims whose node class belongs to another provider.
//
// It reads through the field indexes of the manager. Package operator registers these indexes.
package lookup
