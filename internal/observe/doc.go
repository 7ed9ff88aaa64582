// Package observe turns watch events of the API server into Snapshots. No other package reads the cluster for decisions.
//
// A Cluster is a reducer: it applies watch events, and Snapshot returns the state that results. A decision on a Snapshot
// needs no API call and no lock.
//
// Assume applies an object that Karpenter has just written. The assumed object is kept until the watch delivers its UID and
// resourceVersion. So a watch that lags never undoes a write, no decision is repeated on a stale view, and no caller sleeps
// until it can read its own writes.
//
// State is in memory and may be lost: objects come back with the next list, the next plan makes promises again, and
// first-seen times only shorten or lengthen a batch window.
package observe
