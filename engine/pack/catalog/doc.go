// Package catalog describes the nodes that may be launched: NodePools with their instance types and offerings. It
// determines which pods fit on which of them.
//
// A Pool lists its Types: instance types with the room for pods that DaemonSet pods leave. An OfferSet is the offerings
// of a Pool that meet label requirements, with the lowest price of each Type. A Fit is computed once for all pods with
// the same requirements and demand. For each Pool it has the OfferSet that these pods allow, and the Types that hold
// one of them.
//
// All values except Limits depend only on the snapshot. Pools cache results; the order of calls does not matter. Limits
// is what pool limits and reservations still allow, which changes while a plan is made.
//
// Begin with pool.go (Compile), then offerset.go and fit.go.
package catalog
