// Package nodepool maintains the status of NodePools: whether the spec is valid, whether the node class is ready, the
// sum of resources, whether nodes register, and the hash by which drift is detected.
//
// Each part of the status has its own controller, because each has its own triggers. Since they all write to one
// object, writes have an optimistic lock. After a conflict, the controller reconciles again after a short delay.
//
// Only Health holds state in memory: the last few registrations of each pool. After a restart it is rebuilt from the
// condition in the pool's status.
package nodepool
