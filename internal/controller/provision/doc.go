// Package provision creates claims for pending pods: observe, pack, verify, act, report.
//
// Pods are planned in batches, because they arrive one by one: a round begins when no new pod has come for BatchIdle,
// or BatchMax after the first. Claims whose node has not joined yet count as capacity, so a slow launch delays no other
// pods.
//
// If a new node cannot run a pod that it was launched for, the next launch for the pod is delayed, with a back-off
// (engine/launchbackoff).
//
// The times of the last round are in memory. After a restart a round begins immediately. It launches nothing twice,
// since it counts existing claims. Failed launches are in memory as well: after a restart each of their pods may cause
// one more launch.
package provision
