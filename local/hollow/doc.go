// Package hollow plays the kubelet of every node that carries the annotation
// kwok.x-k8s.io/node=fake: it keeps the lease alive, makes the node ready, runs
// the pods that are bound to it and ends those that are deleted. No container
// ever runs.
//
// The CSI driver of package disks runs in the same process, since it is the
// kubelet through which a driver is on a node.
//
// What a node holds is its owner's to say. The stages in stages/ are the whole
// behaviour; kwok's controllers play them.
package hollow
