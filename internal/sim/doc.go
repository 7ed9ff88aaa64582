// Package sim simulates a whole cluster on virtual time from one seed: the operator with all of its controllers, the API
// server, the cloud, workloads, nodes and the scheduler, with faults, and checks invariants.
//
// A Scenario has the initial objects and the events. Play creates a World for it. Each part of a World has its own state:
//
//   - platform: the API server (package kubeapi), kubelets and workloads (package cluster), and the scheduler; users change it;
//   - account: the emulated cloud;
//   - processes: the replicas of the operator;
//   - faults: decides what happens to a call of a replica;
//   - judge: checks the invariants, when an object is written or a call is made, and every ten seconds.
//
// The Driver carries out one call at a time.
//
// Begin with scenario.go, then driver.go and transport.go.
package sim
