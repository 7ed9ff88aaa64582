// Package awscli stands in for the command line of AWS where tests run what the manual shows of it. A call goes out through
// the SDK to AWS_ENDPOINT_URL, so it has to be one that AWS has: operations, options and their forms are those of the SDK, and
// what is unknown, missing or of the wrong form is an error, as it is to the real one.
//
// Of the real one's own commands there is "cloudformation deploy"; its options --query and --output are there for all.
package awscli
