// Package buffer decides for how many pods a CapacityBuffer reserves room, and computes its status.
//
// The room is represented by virtual pods: pods of the buffer's template that exist only in Snapshots. They are planned
// as pending pods with the lowest possible priority, so nodes are launched and kept for them. Nothing reserves the room
// in the cluster, so real pods are bound there at any time. The next plan then finds other room for the virtual pods.
//
// All functions are pure. Begin with Count (how many pods), Pods (the virtual pods) and Status.
package buffer
