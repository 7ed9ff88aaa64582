// Package capacitybuffer makes virtual pods from CapacityBuffers. A virtual pod is a pending pod that does not exist.
// Provisioning keeps free capacity for it.
//
// Virtual pods are made at the start of each round of provisioning and of disruption from the objects that buffers
// reference. The controller writes the status of each buffer. The package has no state. observe.Cluster stores the planned
// node of each virtual pod, and each round plans the virtual pods again.
package capacitybuffer
