// Package vain decides how long pods wait for another launch when nodes have come up for them in vain.
//
// A launch was in vain for a pod if its node has registered, none of the pods that it was made for came to run there, and the
// pod has to go elsewhere: somebody has tainted the node, it is smaller than was promised, it was removed again because it
// stayed empty. Then another launch will likely end the same way, and one every few seconds is a runaway. So the pod waits
// before the next one, twice as long each time. It still goes wherever there is room.
//
// A first launch never waits. Neither does one for a pod whose node was interrupted, expired, deleted by somebody, or never
// came up: that says nothing about the next node. Pods that run for a while have their past forgotten, and so have pods that
// were changed, or whose pool was.
//
// A pod that was driven off its node and comes back under another name is the same to whoever pays for nodes: the successor
// of a pod, by its owner, inherits its past, one for one.
//
// A Ledger moves on by what it is shown and takes the time from Snapshot.Now. What it knows may be lost: then each pod has
// one more launch.
package vain
