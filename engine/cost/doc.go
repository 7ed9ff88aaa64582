// Package cost decides what each part of the price of the nodes is for: workloads, idle capacity with its cause, or
// overhead.
//
// Allocate is a pure function from a Snapshot and the reasons for which nodes are kept. Its parts add up exactly to the
// price of all nodes, because amounts are integers (Micros) and are split by Split.
//
// docs/adr/0018-cost-model.md has the model.
package cost
