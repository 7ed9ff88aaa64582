// Package terraform checks a Terraform module and plans its resources, without Terraform and without an account. It uses
// HashiCorp's parser and evaluator; the kinds of resources and data sources that it knows are in provider.go.
//
// Check checks the whole text: blocks, the names of arguments, references, functions, unused declarations, version
// constraints. Plan evaluates all blocks in the order of their dependencies with the given variables, for an emulated
// account, and checks the types of values. Values that AWS assigns, such as ARNs, are generated in the format of AWS.
package terraform
