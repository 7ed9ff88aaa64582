// Package migrate converts node groups to NodePools and node classes. Its input are the outputs of the AWS CLI that
// describe the groups of EKS and Auto Scaling. Its output is one NodePool per group, one node class for all groups with
// equal settings, and the steps of the migration.
//
// The output depends on the input only. A NodePool allows the instance types of its group, and the notes tell where it
// could allow more.
package migrate
