// Package interruption reads what AWS says about instances that are going away or have gone bad: spot interruptions,
// rebalance recommendations, scheduled maintenance, changes of state and reclaimed reservations from the queue that
// EventBridge fills, failed status checks and scheduled events from EC2 itself.
//
// It makes notices of them; what becomes of the claims is decided by the engine. A message is deleted only after all that its
// notices call for is done. What fails is delivered again by the queue. A burst is read by several receivers side by side.
//
// Nothing is kept but which instances are unhealthy, for a metric; that may be lost.
package interruption
