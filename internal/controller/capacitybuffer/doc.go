// Package capacitybuffer turns CapacityBuffers into virtual pods, for which provisioning keeps room.
//
// Virtual pods are made anew when a round begins, from the objects that buffers reference. The controller writes the status
// of each buffer. There is no state: the nodes planned for virtual pods are promises of the observed cluster, which the next
// round makes again.
package capacitybuffer
