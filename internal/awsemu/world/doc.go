// Package world is the state of an emulated AWS account in one region: a VPC,
// images, launch templates, instance profiles, instances, capacity and prices.
//
// It speaks no protocol; package awsemu puts it on the wire. It decides what
// EC2 decides: whether a launch is valid, which pool a fleet takes, what it
// costs, and in which state an instance is at a given time. It promises that
//
//   - time comes from the given clock only, and nothing happens by itself:
//     what is due is settled at the next call, in the order it fell due;
//   - identifiers and every random choice come from the seed, so the same
//     calls in the same order give the same world;
//   - values it returns are snapshots that the caller may keep.
//
// Failures are *wire.Error, with EC2's codes.
package world
