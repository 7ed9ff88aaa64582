// Package policy says which permissions the controller needs on AWS, and no more. It is the one source: the documents below
// deploy/aws and the page docs/permissions.md are generated from it, and a test holds the emulated AWS to it.
package policy
