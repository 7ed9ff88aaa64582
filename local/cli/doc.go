// Package cli is the command line of karpenter-local: commands that control a
// cluster, and one command for each part of it.
//
// Exit codes: 0 done, 1 the command failed, 2 it was called wrongly, 3 the
// cluster or the emulator cannot be reached. kubectl keeps its own codes.
package cli
