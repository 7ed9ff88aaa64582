// Package inputs adds to a Snapshot what no watch tells: the instance types that the cloud has on offer, what pods of
// DaemonSets request by the LimitRanges of their namespaces, and the scheduler's default spread constraints.
package inputs
