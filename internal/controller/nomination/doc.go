// Package nomination writes and clears nominations of pods to the nodes planned for them (docs/nominations.md).
//
// The only state in memory between passes is whether the API server has refused a patch of pods/status. After a
// restart, one more patch is tried.
package nomination
