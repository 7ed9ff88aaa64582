// Package withhold decides which terminations of instances a provider must not carry out. It is about instances whose
// only reason for termination is a list or a report of the cloud.
//
// Such a reason may be wrong for many instances at the same time. Examples are NodeClaims that were lost in a restore, and a
// zone that the cloud reports as impaired. There are two rules, the same for all providers.
//
//   - Too many: a pass that would terminate more instances than Limit terminates none of them. See Breaker.
//   - In use: an instance without a NodeClaim is kept while its node is ready and runs pods. See InUse.
//
// Both are reported by the event TerminationWithheld and by a metric. Nothing is stored: each pass decides again.
package withhold
