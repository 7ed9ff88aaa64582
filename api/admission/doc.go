// Package admission decides whether an API server that has our CRDs would
// accept an object, and with what defaults, without an API server.
//
// It runs the API server's own code over the schemas of api/crds: unknown
// fields (as with kubectl's strict validation), defaults, types and formats,
// lists that are sets or maps, CEL rules. What the server does beyond the
// schema (names, owners, quotas, webhooks) is not looked at.
package admission
