// Package doctor checks a cluster for the requirements of the controller and for common faults, such as missing or old
// CRDs, missing permissions, a controller that does not run, NodePools and node classes that are not ready, NodeClaims that
// make no progress, PodDisruptionBudgets that block evictions, and a second autoscaler.
//
// It changes nothing in the cluster. If the user may not read some objects, their check is skipped and reported.
package doctor
