// Command deploy writes the files that set up an AWS account: the CloudFormation template, and the policies of the
// Terraform module. The permissions come from provider/aws/policy:
//
//	cd hack && go run ./deploy
package main
