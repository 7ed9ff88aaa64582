// Package manual tests the shell commands of the manual that need a cluster. It runs them on a local cluster, page after page,
// and compares their output with the page.
//
// A page begins with nothing running, or with a bare cluster if its first command does not start one; it ends with nothing
// running. The commands run in a directory that looks like a fresh clone after a build, with kubectl and helm in the path.
//
//	go test ./e2e/manual                   README.md
//	KARPENTER_LONG=1 go test ./e2e/manual  all pages
package manual
