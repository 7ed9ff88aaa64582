// Package claims sets up controllers that reconcile one NodeClaim at a time: their watch, number of workers and retry rate,
// how they read the claim of a request, and how they retry after a conflict.
package claims
