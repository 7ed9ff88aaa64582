// Package migrate converts node groups to NodePools and node classes. Its input is the output of the AWS CLI that describes
// node groups of EKS or Auto Scaling groups. Its output is one NodePool per group, without Auto Scaling groups that belong
// to node groups of EKS, one node class for all groups with equal settings, and the steps of the migration.
//
// The output depends only on the input and the Options. A NodePool allows the instance types of its group. The notes name
// the groups that should allow more types.
package migrate
