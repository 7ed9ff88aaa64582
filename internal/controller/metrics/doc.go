// Package metrics publishes metrics of the objects in the cluster: waiting times and states of pods, resources of nodes and
// NodePools, and changes of status conditions.
//
// It writes only metrics and events, so all of it can be disabled (--disable-cluster-state-observability), except ClusterState,
// which has no series for single objects. Its state in memory is the series that exist and the last states of objects. After a
// restart, counters begin at zero. Changes during the restart are not reported.
package metrics
