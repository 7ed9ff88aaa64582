// Package doctor checks whether an AWS account has what the controller needs. It checks the credentials and
// permissions, the cluster, the tags on subnets and security groups, and the interruption queue with its rules. It
// also checks the role of nodes, its access to the cluster, and quotas.
//
// It changes nothing: writes are dry runs, or calls for resources that do not exist. The result is about the caller's
// permissions; to check those of the controller's role, assume that role first.
package doctor
