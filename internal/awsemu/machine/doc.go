// Package machine lets emulated instances boot and join a real cluster.
//
// It plays three parts that a cloud has beside its API. The machine decodes
// its user data as the operating system would, and its kubelet registers a
// Node, or never does: then the reason is in the console output. The device
// plugins bring GPUs and the like a little later. The cloud controller sets
// the provider id and the labels of type and zone later still, takes the
// "uninitialized" taint off, and deletes the Nodes of terminated instances.
//
// What runs on a node afterwards (heartbeats, pods) is left to kwok, to which
// the annotation kwok.x-k8s.io/node=fake hands the Node over.
//
// Everything is decided in Step, which does what is due by the clock and says
// when more is; Run only waits. What was done is kept in memory: after a
// restart the instances are gone too, and Run begins by deleting the Nodes
// that have no instance.
package machine
