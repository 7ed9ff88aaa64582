// Command deploy writes what sets up an AWS account: the CloudFormation template, and the policies of the Terraform module.
// Permissions come from provider/aws/policy, their one source. Run it from the root of the repository:
//
//	go run ./hack/deploy
package main
