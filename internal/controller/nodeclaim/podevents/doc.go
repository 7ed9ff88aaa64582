// Package podevents writes to each claim the last time at which a pod was bound to its node or left it.
// consolidateAfter is measured from that time.
//
// A request names a node, so the events of many pods need one Reconcile. If there are many events in a short time, the
// time of the first is written immediately and that of the last ten seconds later. With the first alone, a node could
// become consolidatable while pods still leave. Times come from the pods, and also from the watch, since a pod without
// a grace period no longer exists at the Reconcile. After a restart every node is reconciled once, without repeated
// writes.
package podevents
