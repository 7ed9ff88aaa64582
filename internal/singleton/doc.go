// Package singleton is for controllers that handle the whole cluster instead of one object. Such a controller
// has only one request, and each Reconcile returns the time until the next one in RequeueAfter.
package singleton
