// Package interruption hears from AWS that instances are going away, or have gone bad, and lets their claims go in time:
// spot interruptions, rebalance recommendations, scheduled maintenance, changes of state and reclaimed reservations from the
// queue that EventBridge fills, failed status checks and scheduled events from EC2 itself.
//
// A claim that is deleted counts as going from that moment, so that provisioning makes room for its pods at once, while its
// node is drained. A message is deleted only after all it says is done; what fails comes again by itself. A burst is read by
// several receivers side by side, and each instance is dealt with once, however many messages speak of it.
//
// Nothing is kept but which replacements are awaited, for a metric; that may be lost.
package interruption
