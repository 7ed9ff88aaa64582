// Package singleton makes controllers that work on the cluster as a whole instead of one object: their only request never
// changes, and each Reconcile says by RequeueAfter when it wants to run again.
package singleton
