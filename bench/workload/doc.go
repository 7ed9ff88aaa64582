// Package workload makes what benchmarks work on: pending pods in shapes that clusters really have, catalogues of instance
// types, daemons, pools, and fleets of nodes with pods on them. Everything is made of API objects and a catalogue in the
// form that karpenter simulate reads, so that every solver gets the very same input. The same seed gives the same objects.
package workload
