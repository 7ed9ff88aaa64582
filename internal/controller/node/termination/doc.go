// Package termination ends nodes that are being deleted: it keeps new pods off, drains them, waits for their volumes,
// ends the instance and lets go of the Node at last.
//
// What leaves when is decided by engine/drain; this package asks, writes and tells. Nothing is waited for longer than it
// takes: an empty node goes at once, and a drain moves on when a pod, a volume, a claim or a disruption budget changes, not by
// a poll. Only the cloud is asked again by the clock, because it sends no events; and a refused pod is tried again with a
// back-off all the same, because a budget's status says less than the API server knows.
//
// Every step looks at the world and may be done twice, so a restart in the middle does no harm. The one thing held in
// memory is which evictions were refused or accepted a moment ago (attempts). Losing it costs one more request a pod.
package termination
