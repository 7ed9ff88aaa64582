// Package terraform checks a Terraform module and plans its resources, without Terraform and without an account. It uses
// HashiCorp's parser and evaluator; the schema of the provider is in schema.go.
//
// Check checks the whole text: blocks, arguments, their types, references, functions, unused declarations, version
// constraints. Plan evaluates everything in order of dependency with given variables, in an emulated account, and checks values
// against their types. Values that only AWS assigns, such as ARNs, are made up in the format of AWS.
package terraform
