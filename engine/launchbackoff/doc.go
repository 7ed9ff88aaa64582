// Package launchbackoff decides how long pods wait for the next launch after nodes came up that were of no use to them.
//
// A launch was unused by a pod if its node has registered, none of the pods that it was made for runs there, and the pod needs
// another place. Examples are a node with a taint that was added later, a node that is smaller than its type promised, and a
// node that was removed because it stayed empty. Then the next launch will likely end the same way. So the pod waits before
// it, twice as long each time. It is still placed wherever there is room.
//
// A first launch never waits. A launch does not wait either if the last node was interrupted, expired, deleted by hand or never
// came up: that says nothing about the next node. The history of a pod is dropped when the pod has run for a while, when the
// pod was changed, and when its pool was changed.
//
// A pod that is evicted comes back under another name. The history of a pod that is gone passes to one pending pod of the same
// owner.
//
// The package is a function of values: Observe and Launched return the next State, Decide returns it with its Decision. The
// time is Snapshot.Now. A State may be lost: then each pod has one more launch without a wait.
package launchbackoff
