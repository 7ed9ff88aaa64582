// Package manual tests the shell commands of the manual that need a cluster. It runs them on a local cluster, page
// after page, and compares their output with the page.
//
// Before a page, nothing runs, or a bare cluster if the first command of the page does not start one. After it,
// nothing runs. The commands run in a directory that looks like a fresh clone after a build, with kubectl and helm in
// the path.
//
//	go test ./e2e/manual                   README.md
//	KARPENTER_LONG=1 go test ./e2e/manual  all pages
package manual
