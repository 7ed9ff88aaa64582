// Package apitest holds objects that an API server with the CRDs of Karpenter
// must accept or refuse. There are cases for defaults, patterns, enums, bounds
// and rules.
//
// The same cases run against the schema alone (package admission) and against a
// real API server. They are written as changes to one valid object of each
// kind, in testdata/<kind>.yaml.
package apitest
