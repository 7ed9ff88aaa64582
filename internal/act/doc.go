// Package act executes decisions. It is the only package that writes NodeClaims and Nodes, whether for a Plan, a
// Command, an Action or a provider. internal/archtest checks that no other package does.
//
// An interrupted caller can repeat every write except the creation of objects with generated names. (A repeated request for
// a reboot only adds an entry to the history of repairs.) Most methods of Actor and Nominator return the objects that they
// wrote. The caller passes these to observe.Cluster.Assume, so that no decision is repeated on a stale Snapshot.
package act
