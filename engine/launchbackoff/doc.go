// Package launchbackoff decides how long a pod waits for the next launch after it could not use the nodes launched for
// it.
//
// A launch was unused by a pod if its node has registered, only DaemonSet and static pods run there, and the pod is
// still pending. Examples are a node with a taint that was added later, a node that is smaller than its type promised,
// and a node that was removed because it stayed empty. The next launch would probably be unused too. So the next launch
// for the pod is delayed, twice as long each time. Meanwhile the pod can still be placed on existing nodes.
//
// A first launch is never delayed. A launch after a node that was interrupted, expired, deleted by a user or never
// registered is not delayed either, because the pod may be able to use the next node. The history of a pod is dropped
// when the pod has run for settleTime, or when the pod or its pool is changed.
//
// An evicted pod is replaced by a pod with another name. So the history of a deleted pod is assigned to one pending pod
// of the same owner.
//
// All functions are pure: Observe, Launched and Decide return the next State, and the time is Snapshot.Now. If a State
// is lost, each pod has one more launch without a wait. Begin with Decide, then outcome and Observe.
package launchbackoff
