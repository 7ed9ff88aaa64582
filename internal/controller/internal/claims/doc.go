// Package claims has the common code of controllers that reconcile NodeClaims: watches, number of workers, retry rate,
// reading the NodeClaim of a request, and the retry after a conflict.
package claims
