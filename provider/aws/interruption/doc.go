// Package interruption reads messages of AWS about instances that will be stopped or are unhealthy. EventBridge sends
// spot interruptions, rebalance recommendations, scheduled maintenance, state changes and reclaimed reservations to a
// queue. Failed status checks and scheduled events are read from EC2.
//
// Messages are converted to notices, for which engine/interruption decides the actions. A message is deleted only after
// all actions for its notices are done. Otherwise the queue delivers it again. Several receivers read in parallel.
//
// The only state is the set of unhealthy instances, for a metric. It may be lost.
package interruption
