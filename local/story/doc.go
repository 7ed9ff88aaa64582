// Package story prints how pending pods get nodes, one line per event: pending pods, the plan, the call to the cloud,
// nodes that join, and pods that run.
//
// All output comes from the running cluster. Pods, claims and nodes come from watches, plans from the controller's
// log, and calls and prices from the records of the emulated cloud.
package story
