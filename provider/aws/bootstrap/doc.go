// Package bootstrap generates the user data of nodes in the format of each image family. User data contain the address
// of the cluster, the configuration of kubelet, and the user data of the node class.
//
// Equal Inputs give equal bytes. The name of a launch template is a hash of the user data, and a restart must not
// create new templates.
package bootstrap
