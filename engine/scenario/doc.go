// Package scenario parses clusters that are described in a few lines of YAML, for tests of the engine.
//
// A scenario is a txtar file. It begins with prose that describes the behaviour for a user. The section cluster.yaml is
// the input, and the section want has the expected decisions. Run executes every file of testdata/scenario. With
// -update it rewrites the want sections, and their diff is to be reviewed.
package scenario
