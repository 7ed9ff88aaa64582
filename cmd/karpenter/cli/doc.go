// Package cli is the command line of karpenter: one file for each command, and files with shared code.
//
// Exit codes: 0 done, 1 invalid input or findings that are errors, 2 wrong usage, 3 the cluster or the cloud cannot be
// reached, 4 unschedulable pods (simulate with a flag), 130 interrupted.
//
// It is separate from package main, so that tests of the manual can run and inspect the commands.
package cli
