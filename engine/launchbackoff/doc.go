// Package launchbackoff decides how long a pod waits for the next launch after nodes were launched for it in vain.
//
// A launch was unused by a pod if its node has registered, only DaemonSet and static pods run there, and the pod is
// still pending. Examples are a node with a taint that was added later, a node that is smaller than its type promised,
// and a node that was removed because it stayed empty. The next launch would likely end the same way. So the pod waits
// before it, twice as long each time. Meanwhile it is still placed on existing nodes.
//
// A first launch is never delayed. Nor is a launch after a node that was interrupted, expired, deleted by a user or
// never registered, because that says nothing about the next node. The history of a pod is dropped when the pod has run
// for settleTime, or when the pod or its pool is changed.
//
// An evicted pod is replaced by one with another name. So the history of a deleted pod passes to one pending pod of the
// same owner.
//
// All functions are pure: Observe, Launched and Decide return the next State, and the time is Snapshot.Now. If a State
// is lost, each pod has one more launch without a wait. Begin with Decide, then outcome and Observe.
package launchbackoff
