// Package bootstrap writes the user data that a node starts with: how it finds the cluster, what kubelet is told, and what
// the owner of the node class adds, in the way of each image family.
//
// The same Input gives the same bytes. The name of a launch template is a hash of them, so that matters: a restart must
// not make new templates.
package bootstrap
