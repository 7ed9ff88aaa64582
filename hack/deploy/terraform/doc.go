// Package terraform says what is wrong with a module of Terraform, and what it would make, without Terraform and without an
// account: the language is HashiCorp's own parser and evaluator, the schema of the provider is in schema.go.
//
// Check looks at the whole text: blocks, arguments, their types, references, functions, what is declared and never used,
// version constraints. Plan evaluates everything in order of need with given variables, in a stand-in of an account, and holds
// values against their types; what only AWS knows, such as an ARN, is made up as AWS would form it.
package terraform
