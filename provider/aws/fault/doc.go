// Package fault classifies AWS errors: not found, refused, out of capacity, throttled. The rest of the provider calls
// its predicates. Only the packages doctor and diagnose compare a few error codes themselves.
package fault
