// Package wire reads and writes the query protocols of AWS: requests as forms
// with dotted keys (Filter.1.Value.2), answers and errors as XML.
//
// It does not depend on a particular service. A Form collects what is malformed in a request and reports the first of
// it from Err, so that a decoder reads top to bottom without an error check on each line. Both dialects are covered:
// ec2Query (lists are Name.N) and awsQuery (lists are Name.member.N).
package wire
