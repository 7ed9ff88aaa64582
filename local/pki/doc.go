// Package pki creates the keys of a local cluster: an authority, a serving certificate for all servers on loopback, a
// client certificate for each user, and the key that signs service account tokens.
//
// Existing files are kept. So a second run changes nothing, and the certificates of running clients stay valid.
package pki
