// Package world has the state of an emulated AWS account in one region: a VPC, images, launch templates, instance profiles,
// instances, capacity and prices.
//
// It does not depend on a protocol; package awsemu encodes it. It emulates the decisions of EC2: whether a launch is valid, which
// pool a fleet uses, prices, and the states of instances over time. It guarantees:
//
//   - time comes only from the given clock, and there are no goroutines: due
//     events are executed at the next call, in the order of their times;
//   - identifiers and all random choices come from the seed, so the same
//     calls in the same order give the same account;
//   - returned values are snapshots that the caller may keep.
//
// Errors are *wire.Error with EC2's codes.
package world
