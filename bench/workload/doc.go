// Package workload generates the input of benchmarks: realistic pending pods, catalogues of instance types,
// DaemonSets, NodePools, and fleets of nodes with pods. The input consists of API objects and a catalogue in the
// format of karpenter simulate. So every solver gets the same input. The same seed gives the same objects.
package workload
