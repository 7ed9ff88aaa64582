// Package observe turns what Kubernetes says into Snapshots: it is the one reader.
//
// A Cluster is a reducer: watch events go in, and Snapshot returns the cluster as they add up to. Deciding needs no API
// call and takes no lock but the one around the hand-over.
//
// What we wrote ourselves is handed in by Assume and counts at once. An assumed object gives way when the watch has
// reached its UID and resourceVersion, so a watch that lags never undoes a write, and nothing is decided twice on a stale
// view. Nobody sleeps to read his own writes.
//
// State lives in memory and may be lost: objects come back with the next list, promises are a hint that the next plan
// makes again, first-seen times only shorten or lengthen a batch window.
package observe
