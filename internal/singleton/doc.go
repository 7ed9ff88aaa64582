// Package singleton sets up controllers that work on the cluster as a whole instead of one object. Their only request never
// changes, and each Reconcile returns in RequeueAfter when the next is due.
package singleton
