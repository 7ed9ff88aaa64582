// Package observe builds Snapshots from watch events of the API server. No other package reads the cluster for
// decisions.
//
// A Cluster is a reducer: it applies watch events, and Snapshot returns the state that results. A decision on a Snapshot
// needs no API call and no lock.
//
// Assume applies an object that Karpenter has just written. The assumed object is kept until the watch delivers its UID
// and resourceVersion. So a delayed watch never hides a write of Karpenter, no decision is repeated on a stale
// Snapshot, and no caller waits until it can read its own writes.
//
// State is in memory and may be lost. Objects are listed again after a restart, and the next plan makes promises again.
// The times in waiting only affect the length of a batch.
package observe
