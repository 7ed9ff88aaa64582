// Package scheduler is kube-scheduler for simulations: it decides by the plugins of kube-scheduler itself where pods run.
//
// A Scheduler is a sim.Actor. Step binds every pending pod that has a feasible node, in the order of kube-scheduler's queue.
// Filters, scores, weights, the index of nodes and pods, and the events after which an unschedulable pod is tried again are
// those of kube-scheduler 1.36 with its default profile. The loop around them is this package's, because kube-scheduler's own
// loop runs goroutines and waits for informers:
//
//   - One attempt ends before the next begins. The objects that an attempt sees are those of the API server at that moment.
//   - Each attempt filters and scores all nodes. kube-scheduler takes a sample if there are more than 100.
//   - If several nodes have the best score, a hash of the seed and the pod chooses one. So the same objects and the same seed
//     give the same bindings.
//   - A failed attempt clears status.nominatedNodeName, as preemption without a victim does. A pod with the preemption policy
//     Never keeps it.
//   - A rejected pod is tried again when kube-scheduler's queueing hints say that a change may help it, otherwise after five
//     minutes. After an error it is tried again after a back-off, which doubles from one second to ten.
//   - PersistentVolumeClaims of storage classes with the binding mode WaitForFirstConsumer get a volume or the annotation
//     volume.kubernetes.io/selected-node. The pod is bound when all of its PersistentVolumeClaims are. A
//     PersistentVolumeClaim is bound if it has a volume and the annotation pv.kubernetes.io/bind-completed, which the
//     volume controller sets. The attempt fails after ten minutes, or when the annotation with the node is removed.
//
// Left out are preemption, dynamic resource allocation, pod groups, extenders and events.
//
// No goroutine outlives New or Step. The plugins start some inside a call and wait for them. Time comes from Step alone, so
// a Scheduler may run in a testing/synctest bubble; it must be made inside the bubble.
//
// A Scheduler keeps what it derived from the API server: the index of nodes and pods, the queue, and the pods that wait for
// volumes. A new Scheduler rebuilds all of this. Only the back-offs of pods begin anew.
package scheduler
