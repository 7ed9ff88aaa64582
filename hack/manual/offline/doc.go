// Package offline runs the commands of the manual that need no cluster. They run in a folder that looks like a clone of the
// repository. An emulated account answers for AWS, package awscli stands in for its command line.
//
// It also checks what it does not run: commands, flags and targets that a page names exist, and manifests that a page shows
// are accepted by the API server.
package offline
