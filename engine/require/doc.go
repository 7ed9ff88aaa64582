// Package require computes with constraints on node labels.
//
// A Requirement is a set of values that one label may have. A Set holds at most one Requirement per key. Pools,
// instance types, offerings, nodes and pods all have Sets, and a pod may run on a node if their Sets are compatible.
// Begin with Requirement and New, then Set, Intersects and Compatible.
//
// All values are immutable and share no writable memory with callers. Values and keys are sorted. Of several
// conflicts, the first in key order is reported.
//
// # A missing label is one more value
//
// The universe of a key is all label values and the absence of the label. In admits the listed values, NotIn every
// other value and absence, Exists every value, DoesNotExist only absence, and the numeric operators the integers within
// their bound. Intersection is then the intersection of sets. Two cases follow, both as in kube-scheduler:
//
//   - Exists and NotIn together require the label: MayBeAbsent is false.
//   - Contradicting constraints ("zone in a" and "zone in b", or ">= 6" and "<= 4") do not even admit absence, unlike
//     DoesNotExist, which a node without the label meets.
//
// # Integers
//
// As in kube-scheduler, a value meets a bound if strconv.ParseInt parses it in base 10: "05" is 5, and "5.0" meets no
// bound.
package require
