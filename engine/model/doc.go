// Package model holds the words of every decision: what a cluster is (Snapshot), what may be bought (InstanceType,
// Offering), what was decided (Plan, Command) and why not (Verdict).
//
// A Snapshot is immutable. It moves on by Apply, which returns a new Snapshot that shares all that did not change, so
// that a copy for a hypothesis costs almost nothing. Two promises hold it together:
//
//   - Apply is pure, and applying deltas one by one gives the same Snapshot as applying all their objects at once, in
//     any order. A property test keeps this.
//   - Objects that go in are shared, never changed and never copied: whoever hands them over must not change them
//     afterwards either.
//
// Quantities are int64: millicores for cpu, whole units (bytes, pods, devices) for all else. Requests are rounded up and
// capacities down, so rounding never makes a pod fit that does not. They saturate at MaxAmount: no input makes them wrap.
//
// The package knows no client, clock, logger or cloud. Time enters as Snapshot.Now.
package model
