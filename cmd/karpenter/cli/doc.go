// Package cli is the command line of karpenter: one command for each file, and what several of them share.
//
// Exit codes: 0 done, 1 the input is bad, 2 the command line is wrong, 3 the cluster or the cloud cannot be reached.
//
// It is a package of its own, and not part of the program, so that tests of the manual can run and inspect the commands.
package cli
