// Package inputs completes a Snapshot with data that is not watched: the cloud's instance types, the requests that LimitRanges
// give to the pods of DaemonSets, and the scheduler's default spread constraints.
package inputs
