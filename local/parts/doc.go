// Package parts runs the programs that make up a local cluster, each inside
// the process that calls it: etcd, the Kubernetes API server, scheduler and
// controller manager, the hollow kubelet, kubectl and the AWS emulator.
//
// A part gets its whole configuration as arguments and has no state except its data directory, so that it can be killed
// and started again at any time. Package cluster decides the arguments.
package parts
