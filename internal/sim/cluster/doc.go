// Package cluster simulates the parts of a cluster with which a node autoscaler interacts: kubelets, the controllers of
// kube-controller-manager, volumes, and users who scale their workloads.
//
// Everything is an Actor over the API server of package kubeapi:
//
//   - Kubelets make nodes ready, run pods and end them. A test can stop one, or set conditions of its node.
//   - NodeLifecycle taints nodes by their conditions, evicts pods by NoExecute taints, and removes pods of nodes that were
//     deleted.
//   - Workloads is Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs, and the status of PodDisruptionBudgets.
//   - Garbage deletes objects whose owners were all deleted.
//   - Volumes provisions volumes where the scheduler selected a node, and attaches them.
//   - Load changes the replicas of Deployments over time.
//
// An actor holds the keys of objects that changed, and the times at which other objects are due. A Step without such objects
// reads nothing, so it is cheap. Besides the objects in the API server, an actor has only the state that a kubelet or a
// controller would have in memory. Times that vary are drawn from the seed and the name or UID of the object. So an
// additional object does not change the times of other objects.
//
// Simplifications: ReplicaSets adopt no pods, a Deployment that is scaled during a rollout does not scale old ReplicaSets in
// proportion, Jobs have no indexes, and owners are always deleted in the background. Claims in use can be deleted, and an
// unbound volume binds only to the claim that it names.
package cluster
