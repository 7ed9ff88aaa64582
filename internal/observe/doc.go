// Package observe builds Snapshots from watch events of the API server. Decisions about the whole cluster are made on
// Snapshots only. A controller of single objects may read objects with a client.
//
// A Cluster is a reducer: it applies watch events, and Snapshot returns the state that results. A decision on a Snapshot
// needs no API call and no lock.
//
// Assume applies an object that Karpenter has just written. The assumed object is kept until the watch delivers this
// version, a later one or the deletion, or until Confirm finds that it does not exist. So a delayed watch never hides a
// write of Karpenter, and no decision is repeated on a stale Snapshot. Callers need not wait until the cache has their
// writes. ReadClaims does the same for the claims that a former leader has written.
//
// State is in memory and may be lost. After a restart, objects are listed again, and the next plan records its promises again.
// The times since which pods are pending only affect the length of a batch.
package observe
