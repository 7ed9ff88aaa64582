// Package act executes decisions. It is the only package that writes NodeClaims and Nodes, whether for a Plan, a
// Command, an Action or a provider. internal/archtest checks that no other package does.
//
// Every write except the creation of claims is idempotent, so an interrupted caller can repeat it. The methods of Actor and
// Nominator return the objects that they wrote. The caller passes these to observe.Cluster.Assume, so that no decision is
// repeated on a stale Snapshot.
package act
