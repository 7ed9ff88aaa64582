// Package fault classifies AWS errors: not found, denied, no capacity, throttled. The rest of the provider calls its
// predicates. Packages compare an error code themselves only if no other package needs it.
package fault
