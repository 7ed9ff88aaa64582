// Package migrate converts node groups to NodePools and node classes. Its input is the output of the AWS CLI that
// describes the groups of EKS and Auto Scaling. Its output is one NodePool per group, one node class for all groups
// with equal settings, and the steps of the migration.
//
// The output depends on the input only. A NodePool allows the instance types of its group. The notes name the groups
// that could allow more types.
package migrate
