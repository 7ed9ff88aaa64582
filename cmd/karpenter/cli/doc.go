// Package cli is the command line of karpenter: one file for each command, and files with shared code.
//
// Exit codes: 0 done, 1 the input is bad, 2 the command line is wrong, 3 the cluster or the cloud cannot be reached.
//
// It is separate from package main, so that tests of the manual can run and inspect the commands.
package cli
