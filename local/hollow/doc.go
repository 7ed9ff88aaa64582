// Package hollow acts as the kubelet of every node with the annotation kwok.x-k8s.io/node=fake. It renews the lease,
// makes the node ready, sets pods that are bound to the node to running, and removes pods that are deleted. No
// container ever runs.
//
// The CSI driver of package disks runs in the same process, since drivers
// register with the kubelet of a node.
//
// The creator of a node sets its capacity. The stages in stages/ define all of the behaviour, and kwok's controllers
// execute them.
package hollow
