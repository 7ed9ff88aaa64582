// Package manual reads the shell commands in the project's Markdown pages, so that tests can run them and compare their
// output.
//
// A fenced block contains shell commands if its language is sh or console. A block sh has lines to be typed. A block
// console has lines that begin with "$ ", each followed by its output. A block "text output" is the output of the
// shell block before it. Words after the language say how a block is run:
//
//	sh                      offline, in a directory with examples/, deploy/ and charts/
//	sh cluster              on a local cluster
//	sh account              with an emulated AWS account and an emulated AWS command line
//	sh release              with helm, a registry, and a cluster without CRDs of this project
//	console exit=1          the last command has this exit code
//	sh cluster until="..."  the command does not end by itself, and is stopped after this output
//	sh long="PODS=10"       takes minutes, so only long tests run it, in a copy of the repository. The variables reduce its
//	                        work. With "long" alone, it runs unchanged.
//
// In output, a line "..." stands for any number of lines, and "..." within a line for any text. Times always count as
// equal; see Mismatch for other replacements.
package manual
