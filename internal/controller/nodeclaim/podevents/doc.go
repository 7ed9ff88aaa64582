// Package podevents notes on each claim when pods last came to or went from its node, which is what consolidateAfter
// counts from.
//
// A request names a node, so the events of many pods need one Reconcile. Of a burst, the time of the first event is written at
// once and that of the last one ten seconds later. With the first alone, a node would become consolidatable while its pods
// still leave. Times come from the pods, and also from the watch, since a pod without a grace period is gone before a Reconcile.
// After a restart every node is reconciled once, and nothing is written twice.
package podevents
