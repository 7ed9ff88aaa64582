// Package wire decodes and encodes the query protocols of AWS. Requests are forms with dotted keys (Filter.1.Value.2). Responses
// and errors are XML.
//
// It does not depend on a service. A Form collects malformed values of a request, and Err returns the first of them. So a decoder
// needs no error check after each value. The package supports two variants: ec2Query (lists are Name.N) and awsQuery (lists are
// Name.member.N).
package wire
