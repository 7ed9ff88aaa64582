// Package instances reads, ends and tags EC2 instances.
//
// Reads and terminations that come close together are joined into one call. An instance is ours when it carries the tags
// of the cluster, of a pool and of a node class; nothing else is ever listed or ended here by its own accord.
package instances
