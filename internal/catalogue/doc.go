// Package catalogue reads and describes instance types in the form of a catalogue: a JSON array of types, each with its labels,
// its allocatable resources, and its offerings with prices in dollars per hour.
//
// The command karpenter catalog writes such a file, and karpenter simulate --catalog reads it. Benchmarks write it too, so that
// every solver gets the same input.
package catalogue
