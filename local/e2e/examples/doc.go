// Package examples applies every use case of the directory examples on a local cluster: its pods must run, on nodes
// with the properties that the example demonstrates.
//
// The examples are applied one after another to one cluster, with the placeholders replaced that a reader has to
// replace. Three of them run by default; KARPENTER_LONG=1 runs all. With -short they are skipped.
package examples
