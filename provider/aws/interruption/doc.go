// Package interruption reads AWS messages about instances that will end or are unhealthy. From the queue that EventBridge fills
// come spot interruptions, rebalance recommendations, scheduled maintenance, state changes and reclaimed reservations. From EC2
// come failed status checks and scheduled events.
//
// It turns messages into notices; the engine decides about the claims. A message is deleted only after all actions for its
// notices are done; otherwise the queue delivers it again. Several receivers read a burst in parallel.
//
// The only state is which instances are unhealthy, for a metric; it may be lost.
package interruption
