// Package nodepool keeps the status of pools true: whether the spec holds, whether the node class is ready, how much the
// pool has, whether its nodes join the cluster, and the hash that tells drifted claims.
//
// Each question is a controller of its own, because each has its own triggers, and each writes only its own part of the
// status. They meet on one object, so writes carry an optimistic lock, and a conflict is no error: the controller looks
// again a moment later.
//
// Only Health holds state in memory, the last few registrations of each pool. After a restart it is rebuilt from the
// condition that it led to, which is all that anybody saw of it.
package nodepool
