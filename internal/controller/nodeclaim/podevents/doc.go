// Package podevents notes on each claim when pods last came to or went from its node, which is what consolidateAfter
// counts from.
//
// A request names a node, not a pod, so a burst of pods is one look at the node. The moment is read off the pods:
// after a restart everything is looked at once and nothing is written.
package podevents
