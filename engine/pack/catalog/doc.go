// Package catalog compiles the nodes that may be launched: NodePools, their instance types and offerings. It also
// determines which pods fit on which of them.
//
// A Pool lists its Types: instance types with the room that is left after DaemonSet pods. An OfferSet is the subset of
// a Pool's offerings that meets label requirements, with the lowest price of each Type. A Fit is computed for pods
// with the same requirements and demand. It states, for each Pool, the OfferSet and the Types that can hold one of the
// pods.
//
// All values except Limits depend only on the snapshot. Pools cache results, and the order of calls does not affect
// them. Limits is the capacity that pool limits and reservations still allow, which changes while a plan is made.
//
// Begin with pool.go (Compile), then offerset.go and fit.go.
package catalog
