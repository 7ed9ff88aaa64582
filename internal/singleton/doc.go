// Package singleton is for controllers that work on the whole cluster instead of one object. They have only one
// request, and each Reconcile returns the time until the next one in RequeueAfter.
package singleton
