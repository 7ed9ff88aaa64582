// Package termination handles nodes that are being deleted: it taints and drains them, waits for their volumes,
// terminates the instance and removes the finalizer of the Node.
//
// engine/drain decides which pods are evicted when; this package reads the inputs and executes the decision. Events
// trigger each step: changes of pods, volumes, claims and PodDisruptionBudgets. There are two exceptions. The cloud is
// polled, because it sends no events. A refused eviction is repeated with a back-off, because the status of a budget
// may lag behind the API server's decision.
//
// Every step reads the current state and is idempotent, so it can be repeated after a restart. The only state in memory
// is the results of recent evictions (attempts). If it is lost, there is one more request per pod.
package termination
