// Package inputs completes a Snapshot with data that is not watched: the instance types of the cloud, the requests of DaemonSet
// pods that come from LimitRanges, and the default spread constraints of kube-scheduler.
package inputs
