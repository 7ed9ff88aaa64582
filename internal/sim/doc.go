// Package sim simulates a whole cluster on virtual time from one seed: the operator with all of its controllers, the API
// server, the cloud, workloads, nodes and the scheduler, with faults, and checks invariants after every step.
package sim
