// Package nodepool maintains the status of pools: whether the spec is valid, whether the node class is ready, which
// resources the pool has, whether its nodes register, and the hash that drift is detected by.
//
// Each part of the status has its own controller, because each has its own triggers. Since they all write to one object,
// writes carry an optimistic lock. A conflict is no error: the controller reconciles again a moment later.
//
// Only Health holds state in memory: the last few registrations of each pool. After a restart it is rebuilt from the
// condition in the pool's status.
package nodepool
