// Package admission decides, without an API server, whether an API server with
// the CRDs of Karpenter would accept an object, and which defaults it would
// set.
//
// It runs the API server's own code over the schemas of api/crds: unknown
// fields (as with kubectl's strict validation), defaults, types and formats,
// lists that are sets or maps, CEL rules. What the server checks beyond the
// schema (names, owners, quotas, webhooks) is not checked here.
package admission
