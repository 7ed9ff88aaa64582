// Package account is an account of AWS that tests run the manual in: the emulator, and in front of it what only setting an
// account up needs: stacks of CloudFormation, policies of IAM, node groups of EKS and their Auto Scaling groups.
//
// A stack is held against its template in full: parameters and what they allow, rules, conditions, references, the properties
// of each resource, and the JSON of policies once everything is filled in.
package account
