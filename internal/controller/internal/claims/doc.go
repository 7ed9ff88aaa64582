// Package claims has the common code of controllers that reconcile NodeClaims: watches, number of workers, retry rate,
// reading the NodeClaim of a request, the label of its node class, and the retry after a conflict.
package claims
