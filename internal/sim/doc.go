// Package sim simulates a whole cluster on virtual time from one seed: the operator with all of its controllers, the API
// server, the cloud, workloads, nodes and the scheduler, with faults, and checks invariants.
//
// A Scenario is what happens. Play makes a World of it: the API server (package kubeapi), kubelets and workloads (package
// cluster), the emulated account, and replicas of the operator. The Driver carries out one call at a time. faults decides
// what happens to a call. judge checks the invariants when an object is written and every ten seconds.
//
// Begin with scenario.go, then driver.go and transport.go.
package sim
