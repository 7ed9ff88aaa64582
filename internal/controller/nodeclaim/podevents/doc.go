// Package podevents writes to each claim the last time at which a pod was bound to its node, finished, or began to terminate.
// consolidateAfter is measured from that time.
//
// A request names a node, so one Reconcile handles the events of many pods. If there are many events in a short time, the
// time of the first is written immediately, and that of the last ten seconds later. With the first time alone, a node could
// become consolidatable while pods still leave it. Times come from the pods and from the watch, because a pod without a
// grace period no longer exists when Reconcile lists pods. After a restart every node with pods is reconciled once, without
// repeated writes.
package podevents
