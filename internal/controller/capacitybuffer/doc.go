// Package capacitybuffer makes virtual pods from CapacityBuffers: pending pods that do not exist, for which
// provisioning keeps free capacity.
//
// Virtual pods are made at the start of each provisioning round from the objects that buffers reference. The controller
// writes the status of each buffer. The package has no state: observe.Cluster stores which node is planned for which
// virtual pod, and each round plans that again.
package capacitybuffer
