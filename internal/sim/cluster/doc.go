// Package cluster simulates what a node autoscaler meets in a cluster and does not own: kubelets, the controllers of
// kube-controller-manager, volumes, and users who scale their workloads.
//
// Everything is an Actor over the API server of package kubeapi:
//
//   - Kubelets make nodes ready, run pods and end them. A test can stop one, or set conditions of its node.
//   - NodeLifecycle taints nodes by their conditions, evicts pods by NoExecute taints, and removes pods of nodes that were
//     deleted.
//   - Workloads is Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs, the status of PodDisruptionBudgets, and the
//     deletion of objects whose owner was deleted.
//   - Volumes provisions volumes where the scheduler selected a node, and attaches them.
//   - Load changes the replicas of Deployments over time.
//
// An actor holds keys of objects that changed, and times at which others are due. It looks at no other object, so a Step
// without changes is cheap. Its state besides the API server is what a kubelet or a controller would have in memory. Times
// that vary are drawn from the seed and the uid of the object, so an additional object does not change those of others.
//
// Simplifications: ReplicaSets adopt no pods, a Deployment that is scaled during a rollout does not scale old ReplicaSets in
// proportion, Jobs have no indexes, and owners are always deleted in the background. Claims in use can be deleted, and an
// unbound volume binds only to the claim that it names.
package cluster
