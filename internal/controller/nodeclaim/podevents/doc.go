// Package podevents notes on each claim when pods last came to or went from its node, which is what consolidateAfter
// counts from.
//
// A request names a node, not a pod, so a burst of pods is one look at the node. Of a burst the first moment is written at once and
// the last one ten seconds later: a node whose claim told of the first only would count as calm while its pods still go. The moments
// are read off the pods, and off the watch, for a pod without a grace period is gone before anybody looks. So after a restart
// everything is looked at once, and what was written is not written again.
package podevents
