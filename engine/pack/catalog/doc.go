// Package catalog compiles what may be launched: NodePools, their instance types and offerings, and which pods fit where.
//
// A Pool lists its Types: instance types with the room that is left once DaemonSet pods run on a node. An OfferSet is what
// label requirements leave of a Pool's offerings, with the price of the cheapest one of each Type. A Fit says, for pods with
// the same requirements and demand, which OfferSet and which Types of each Pool can hold one of them.
//
// Everything here depends on the snapshot alone. Pools remember answers that were asked for before; no answer depends on the
// order of questions. What changes while a plan is made, the capacity that pool limits and reservations still leave, is in
// Limits, a value of its own.
//
// Begin with pool.go (Compile), then offerset.go and fit.go.
package catalog
