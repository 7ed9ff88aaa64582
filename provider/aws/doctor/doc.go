// Package doctor checks an AWS account for what the controller needs: credentials, the cluster, each permission by a call
// that changes nothing, tags on subnets and security groups, the queue and its rules, the role of nodes and its access to
// the cluster, quotas.
//
// It changes nothing: it tries writes as dry runs, or on resources that do not exist. The result is about the caller's
// permissions; to check those of the controller's role, assume that role first.
package doctor
