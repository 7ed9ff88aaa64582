// Package provision turns pods that wait into claims: observe, pack, verify, act, tell.
//
// Pods are planned in batches, because they arrive one by one: a round begins when no new pod has come for BatchIdle, or
// BatchMax after the first. Claims in flight are capacity, so a launch that is slow or fails holds up nothing else.
//
// Pods for which nodes came up in vain wait before the next launch, longer each time (engine/launchbackoff).
//
// The times of the last round are in memory. A restart plans at once, which costs nothing: what was planned is in flight. So
// are the launches in vain: after a restart each pod that they were for has one launch more.
package provision
