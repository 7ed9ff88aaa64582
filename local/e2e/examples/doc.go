// Package examples applies every use case of the directory examples on a local
// cluster: its pods must run, on nodes of the kind that the example is about.
//
// The examples go one after another through one cluster, as they stand in the
// files but for the names that a reader has to put in. Three of them run by
// default; KARPENTER_LONG=1 runs all. With -short they are skipped.
package examples
