// Package machine emulates the boot of instances, which join a real cluster.
//
// It emulates three components. The machine decodes its user data like the operating system, and its kubelet registers
// a Node; if that fails, the reason is in the console output. The device plugins add GPUs and other devices a little
// later. Then the cloud controller sets the provider ID and the labels of type and zone and removes the "uninitialized"
// taint. It also deletes the Nodes of terminated instances.
//
// The annotation kwok.x-k8s.io/node=fake hands the Node over to kwok, which emulates heartbeats and pods.
//
// Step executes all work that is due and returns the time of the next work. Run calls Step at these times, and Resync
// periodically. The state is in memory. After a restart there are no instances, so Run first deletes the Nodes without an instance.
package machine
