// Package provision creates claims for pending pods: observe, pack, verify, act, report.
//
// Pods are planned in batches, because they arrive one by one: a round begins when no new pod has come for BatchIdle, or
// BatchMax after the first. Claims in flight count as capacity, so a launch that is slow or fails delays nothing else.
//
// Pods whose new nodes could not run them wait before the next launch, longer each time (engine/launchbackoff).
//
// The times of the last round are in memory. After a restart a round begins at once, which launches nothing twice, since claims
// are in flight. Failed launches are in memory as well: after a restart each of their pods may get one launch more.
package provision
