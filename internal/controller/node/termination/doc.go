// Package termination handles nodes that are being deleted: it taints and drains them, waits for their volumes,
// terminates the instance and removes the finalizer of the Node.
//
// engine/drain decides when each pod is evicted. This package reads the inputs and executes the decision. Events of pods,
// volumes, claims and PodDisruptionBudgets trigger each step. There are two exceptions. The cloud is polled, because it sends no
// events. A refused eviction is repeated with a backoff, because the status of a PodDisruptionBudget may lag behind the API
// server's decision.
//
// Every step reads the current state and is idempotent, so it can be repeated after a restart. Only the results of recent
// evictions (attempts) are in memory. If they are lost, there is one more request per pod.
package termination
