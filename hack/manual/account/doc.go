// Package account emulates an AWS account for tests of the manual. It extends the emulator by the services for setting
// up an account: CloudFormation stacks, IAM policies, EKS node groups and their Auto Scaling groups.
//
// A stack is checked when it is created: parameters and their allowed values, rules, conditions, references, the
// properties of each resource whose condition holds, and the JSON of policies after all substitutions.
package account
