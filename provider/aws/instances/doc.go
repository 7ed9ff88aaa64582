// Package instances reads, terminates, reboots and tags EC2 instances.
//
// Reads and terminations that are requested at about the same time are combined into one call (package batch). An
// instance is Karpenter's if it has the tags of the cluster, a pool and a node class. Other instances are not listed.
// They are terminated only if a caller passes their IDs.
package instances
