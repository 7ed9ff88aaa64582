// Package metrics publishes metrics of the objects in the cluster: how long pods wait and where they run, the resources of
// nodes and pools, and changes of status conditions.
//
// It decides nothing and writes only metrics and events, so all of it can be switched off
// (--disable-cluster-state-observability). Its state is which series it made and what it saw last. After a restart counters
// begin at zero, and changes during the restart are not reported.
package metrics
