// Package fault classifies AWS errors: not found, refused, out of capacity, throttled. It is the only package with error codes
// and texts; the rest of the provider calls its predicates.
package fault
