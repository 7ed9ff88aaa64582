// Package world is the state of an emulated AWS account in one region: a VPC,
// images, launch templates, instance profiles, instances, capacity and prices.
//
// It does not depend on a protocol; package awsemu encodes it. It emulates the decisions of EC2: whether a launch is
// valid, which pool a fleet uses, its price, and the state of an instance at a given time. It guarantees that
//
//   - time comes from the given clock only, and nothing happens by itself:
//     what is due is settled at the next call, in the order it fell due;
//   - identifiers and every random choice come from the seed, so the same
//     calls in the same order give the same world;
//   - values it returns are snapshots that the caller may keep.
//
// Failures are *wire.Error, with EC2's codes.
package world
