// Package account emulates an AWS account in which tests run the manual. It adds to the emulator what setting an account up
// needs: CloudFormation stacks, IAM policies, EKS node groups and their Auto Scaling groups.
//
// A stack is checked against its whole template: parameters and their allowed values, rules, conditions, references, the
// properties of each resource, and the JSON of policies after all substitutions.
package account
