// Package singleton is for controllers that handle the whole cluster instead of one object. Such a controller has only one
// request. A Reconcile that is to be repeated without an event returns the delay in RequeueAfter.
package singleton
