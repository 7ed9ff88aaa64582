// Package instances reads, ends and tags EC2 instances.
//
// Reads and terminations that come close together are joined into one call. An instance is Karpenter's if it has the tags of
// the cluster, a pool and a node class. Other instances are never listed, nor terminated unless a caller names them.
package instances
