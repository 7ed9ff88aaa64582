// Package scenario reads clusters written down in a few lines of YAML, for tests of the engine.
//
// A scenario is a txtar file: prose that tells the behaviour as a user would, a section cluster.yaml, and a section want
// with the decisions. Run executes every file of testdata/scenario; with -update it rewrites the want sections, and the
// diff is the review.
package scenario
