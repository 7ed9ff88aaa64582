// Package buffer decides for how many pods a CapacityBuffer keeps free capacity, and computes its status.
//
// The capacity is represented by virtual pods: pods of the buffer's template that exist only in Snapshots. They are
// planned as pending pods with the lowest possible priority, so nodes are launched and kept for them. Nothing in the
// cluster excludes real pods from this capacity, so kube-scheduler may bind them there at any time. The next plan then
// places the virtual pods elsewhere.
//
// All functions are pure. Begin with Count (how many pods), Pods (the virtual pods) and Status.
package buffer
