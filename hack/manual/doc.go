// Package manual reads the shell commands in the project's Markdown pages, so that tests can run them and compare their
// output.
//
// A fenced block contains shell commands if its language is sh or console. A block sh has lines to be typed. A block
// console has lines that begin with "$ ", each followed by its output. A block "text output" is the output of the
// shell block before it. Words after the language say how a block is run:
//
//	sh                      offline, in a directory that holds examples/, deploy/ and charts/
//	sh cluster              against a local cluster
//	sh account              with an emulated account of AWS, and a stand-in for its command line
//	sh release              with helm, a registry, and a cluster that has nothing of ours
//	console exit=1          the last command ends with this code
//	sh cluster until="..."  it goes on for ever; it is stopped when it has printed this
//	sh long="PODS=10"       takes minutes: run by the long tests only, in a copy of the repository, with these variables, which
//	                        make it smaller; "long" alone if it runs as it stands
//
// In output, a line "..." stands for any number of lines, and "..." within a line for any text. Times always count as
// equal; see Mismatch for other replacements.
package manual
