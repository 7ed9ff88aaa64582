// Package require decides which label values a set of constraints leaves open.
//
// A Requirement is what one label key may still be; a Set holds at most one
// Requirement a key. Pools, instance types, offerings, nodes and pods all speak
// in Sets, and "may this pod go there" is the question whether two Sets agree.
//
// Everything here is a value: nothing changes after it is made, no method keeps
// or hands out memory that a caller could write to, and every order (values,
// keys, the conflict that is reported first) is the sorted one.
//
// # A missing label is one more value
//
// The world of a key is all label values and one thing more: the label's
// absence. In admits the values it lists, NotIn every other value and absence,
// Exists every value, DoesNotExist absence alone, and the four numeric
// operators integers within their bound. Intersection is then plain set
// intersection, with the laws of sets. Two things follow, both as
// kube-scheduler sees them:
//
//   - Exists and NotIn together still insist on the label: MayBeAbsent is false.
//   - Constraints that contradict each other ("zone in a" and "zone in b",
//     or ">= 6" and "<= 4") admit nothing at all, not even absence. They are
//     not the same as DoesNotExist, which a node without the label satisfies.
//
// # Integers
//
// A value meets a bound if strconv.ParseInt reads it in base ten, as in
// kube-scheduler, so "05" is five and "5.0" is nothing.
package require
