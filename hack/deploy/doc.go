// Command deploy writes what sets up an AWS account: the CloudFormation template, and the policies of the Terraform module.
// Permissions come from provider/aws/policy, their one source:
//
//	cd hack && go run ./deploy
package main
