// Command gen writes everything in the repository that is generated from the
// API types: deepcopy functions, the CRDs in api/crds, and their copies in the
// Helm chart:
//
//	cd hack && go run ./gen
//
// It is deterministic, so a check may run it and look for a difference. It does
// not import the API packages: they need not compile for it to repair them.
//
// Most of a CRD comes from markers in the Go types, by way of controller-gen.
// What markers cannot say, because the type is Kubernetes' own or the rule is of
// one provider, is in patch.go.
package main
