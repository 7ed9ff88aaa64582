// Package nomination writes and clears nominations of pods to the nodes planned for them (docs/nominations.md).
//
// Whether the API server has refused a patch of pods/status is in memory only. After a restart, the patches of one more pass
// are tried. The counts of bound pods are in memory, too, and begin again.
package nomination
