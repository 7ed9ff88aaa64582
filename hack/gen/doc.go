// Command gen writes everything in the repository that is generated from the
// API types: deepcopy functions, the CRDs in api/crds, and their copies in the
// Helm chart:
//
//	cd hack && go run ./gen
//
// It is deterministic, so a check may run it and look for a difference. It does
// not import the API packages: they need not compile for it to repair them.
//
// Most of a CRD comes from markers in the Go types, by way of controller-gen. Rules that markers cannot express,
// because the type belongs to Kubernetes or the rule to one provider, are in patch.go.
package main
