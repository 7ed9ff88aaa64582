// Package pki makes the keys of a local cluster: an authority, a serving
// certificate for everything on loopback, a client certificate for each user
// and the key that signs service account tokens.
//
// Existing files are kept. A second run therefore changes nothing, and the certificates of clients of a running cluster
// stay valid.
package pki
