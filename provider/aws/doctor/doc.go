// Package doctor looks at an AWS account for what the controller needs: credentials, the cluster, each permission by a call
// that changes nothing, tags on subnets and security groups, the queue and its rules, the role of nodes and its access to
// the cluster, quotas.
//
// Nothing is changed: writes are tried as dry runs, or on things that do not exist. What the caller may not do, the
// controller may not do with the same credentials; to look with the controller's role, assume it first.
package doctor
