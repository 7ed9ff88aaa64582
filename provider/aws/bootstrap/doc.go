// Package bootstrap generates the user data of nodes in the format of each image family: how to reach the cluster, the
// configuration of kubelet, and the user data of the node class.
//
// The same Input gives the same bytes. The name of a launch template is a hash of them, so that matters: a restart must
// not make new templates.
package bootstrap
