// Package nodepool maintains the status of NodePools: whether the spec is valid, whether the node class is ready, the
// sum of resources, whether nodes register, and the hash by which drift is detected.
//
// Each part of the status has its own controller with its own triggers. All controllers write to the same object, so the writes
// have an optimistic lock. After a conflict, validation, readiness and sums are computed again with the NodePool read from the API
// server. The others reconcile again after a delay that grows until the cache has caught up.
//
// Only Health has state in memory: the last few registrations of each NodePool. After a restart it is restored from the condition
// in the NodePool's status.
package nodepool
