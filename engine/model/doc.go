// Package model holds the input and output of all decisions: the cluster (Snapshot), what can be launched
// (InstanceType, Offering), the decisions (Plan, Command), and the reasons of refusals (Verdict). Begin with Snapshot
// and Plan.
//
// A Snapshot is immutable. Apply returns a new Snapshot that shares all unchanged parts, so a copy for a what-if is
// cheap. Two rules hold:
//
//   - Apply is pure. Deltas of different objects give the same Snapshot in any order, in one call of Apply or in several. A
//     property test checks this.
//   - Objects are shared and never copied. Neither this package nor its caller may change them afterwards.
//
// Quantities are int64: millicores for cpu, whole units (bytes, pods, devices) for all others. Requests are rounded up
// and capacities down, so rounding never makes a pod fit that does not. Quantities are limited to MaxAmount, so sums do
// not overflow.
//
// The package uses no client, clock, logger or cloud. The time is Snapshot.Now.
package model
