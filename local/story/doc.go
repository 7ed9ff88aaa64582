// Package story shows how pending pods get nodes, line by line as it happens:
// pending pods, the plan, the call to the cloud, nodes that join, pods that run.
//
// All output comes from the running cluster: pods, claims and nodes come from watches, plans from the controller's log,
// calls and prices from the records of the emulated cloud.
package story
