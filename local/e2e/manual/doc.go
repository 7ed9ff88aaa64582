// Package manual does what the manual says: every block of shell that needs a cluster is run on the local one, page after
// page, and what it prints is compared with what the page shows.
//
// A page begins with nothing running, or with a bare cluster if its first command does not start one; it ends with nothing
// running. It is read in a directory that looks like a fresh clone in which everything is built. kubectl and helm are there
// by name, as on the machine of a reader who has them.
//
//	go test ./e2e/manual                   README.md
//	KARPENTER_LONG=1 go test ./e2e/manual  all pages
package manual
