// Package interruption reads messages of AWS about instances that will be stopped or are unhealthy.
// EventBridge sends spot interruptions, rebalance recommendations, scheduled maintenance, state
// changes and reclaimed reservations to a queue. Failed status checks and scheduled events are read
// from EC2.
//
// The only state is the URL of the queue, and the set of unhealthy instances for a metric. Both may
// be lost.
package interruption
