// Package lifecycle takes claims through their life: launch, registration, initialization, and at the end drain, the
// end of the instance, and release.
//
// What is to happen is decided by engine/lifecycle; here it is carried out, and the claim's status is written once a
// pass. A pass may be cut short anywhere: everything it does can be done again, and a launch that is asked for again
// gives the same instance.
//
// A launch that hangs holds up its own claim only. It is called off when the claim is deleted or its time is up. What
// is kept in memory, the answers of launches that may not be in the cache yet, may be lost: it only saves asking
// again.
package lifecycle
