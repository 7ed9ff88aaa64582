// Package parts runs the programs of a local cluster, each inside the process that calls it: etcd, the Kubernetes API
// server, scheduler and controller manager, the hollow kubelet, Cluster API, kubectl and the AWS emulator.
//
// A part gets its whole configuration as arguments. It has no state except its data directory, so it can be killed and
// restarted at any time. Package cluster chooses the arguments.
package parts
