// Package catalog describes the nodes that may be launched: NodePools with their instance types and offerings. It
// determines which pods fit on which of them.
//
// A Pool lists its Types: instance types with the capacity that DaemonSet pods leave free. An OfferSet is the offerings
// of a Pool that meet label requirements, with a price of each Type (OfferSet.Prices). A Fit has, for each Pool, the
// OfferSet that some pods allow and the Types that hold one such pod. It is computed once for all pods with the same
// requirements and demand.
//
// All values except Limits depend only on the snapshot, the settings and the pods to plan. LeaveSlack must be called
// before Fit. After that, pools cache results, and the order of calls does not matter, unless a pool reaches maxMeets
// intersections. Limits is what NodePool limits, reservations and commitments still allow, which changes while a
// plan is made.
//
// Begin with pool.go (Compile), then offerset.go and fit.go.
package catalog
