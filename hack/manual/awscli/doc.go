// Package awscli emulates the AWS command line for tests of the manual. It makes calls with the SDK to AWS_ENDPOINT_URL, so only
// operations, options and formats of the SDK are accepted. Unknown, missing or malformed options are errors, as in the real
// command line.
//
// The only supported command that is not an API call is "cloudformation deploy". The options --query and --output work
// for all commands.
package awscli
