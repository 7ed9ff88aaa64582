// Package offline runs the commands of the manual that need no cluster. They run in a folder that looks like a clone of
// the repository. Package account emulates AWS, package awscli its command line.
//
// It also checks all pages: the commands, flags and targets that they name must exist, and manifests must be valid for
// the API server.
package offline
