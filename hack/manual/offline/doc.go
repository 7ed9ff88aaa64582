// Package offline runs the commands of the manual that need no cluster. They run in a folder that looks like a clone of
// the repository. Package account emulates AWS, package awscli its command line.
//
// It also checks the pages otherwise: named commands, flags and targets must exist, and manifests must be valid for the
// API server.
package offline
