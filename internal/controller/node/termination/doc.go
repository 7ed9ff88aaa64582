// Package termination ends nodes that are being deleted: it keeps new pods off, drains them, waits for their volumes,
// terminates the instance and removes the finalizer of the Node.
//
// engine/drain decides which pods leave when; this package reads, writes and reports. There are no polls: an empty node is
// deleted at once, and a drain goes on when a pod, a volume, a claim or a disruption budget changes. There are two exceptions.
// The cloud is polled, because it sends no events. A refused eviction is repeated with a back-off, because the status of a
// budget may lag behind the API server's decision.
//
// Every step reads the current state and is idempotent, so it can be repeated after a restart. The only state in memory is
// which evictions were refused or accepted a moment ago (attempts). Losing it costs one more request per pod.
package termination
