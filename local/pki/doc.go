// Package pki makes the keys of a local cluster: an authority, a serving
// certificate for everything on loopback, a client certificate for each user
// and the key that signs service account tokens.
//
// What is on disk is kept. A second run therefore changes nothing, and clients
// of a running cluster stay welcome.
package pki
