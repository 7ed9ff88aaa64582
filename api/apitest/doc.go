// Package apitest holds objects that an API server with the CRDs of Karpenter
// must accept or refuse, one case for every default, pattern, enum, bound and
// rule.
//
// The same cases run against the schema alone (package admission) and against a
// real API server. They are written as changes to one valid object of each
// kind, in testdata/<kind>.yaml.
package apitest
