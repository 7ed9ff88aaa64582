// Package interruption decides what to do when the cloud reports that instances will be stopped or are unhealthy.
//
// Begin with Decide, a pure function of notices, claims and nodes. It returns one Action for each claim that a notice
// names. The table responses defines the action for each kind of notice. Decide guarantees the following.
//
//   - If several notices are about one instance, only the most urgent one counts.
//   - A claim that is being deleted is neither deleted again nor cordoned. Capacity is still recorded as unavailable, and the
//     drain from a failed instance or host still gets a deadline.
//   - A rebalance recommendation only becomes an event, unless Notice.Act is set. All other notices delete the claim.
//   - A notice about an instance that no claim has is ignored. Early returns those that may be about an instance whose launch has
//     no known result, and that must be handled again.
//   - A deadline is set only for failed instances and hosts, whose pods may not terminate, and never replaces an existing one.
//
// The rules are those of Karpenter: https://karpenter.sh/docs/concepts/disruption/#interruption
package interruption
