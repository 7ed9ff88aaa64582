// Package podtopology checks for engine/verify the constraints of pods about other pods: required affinity, required
// anti-affinity and topology spread constraints with DoNotSchedule. Begin with Rules.Check.
//
// It checks the cluster after the plan. Anti-affinity does not depend on the order of the pods, affinity and spread do.
// So the pods are placed one after another in the order of the plan (replay), as in kube-scheduler. Each must meet its
// rules among the pods placed before it. Pods that the order omits are placed afterwards, in any feasible order.
//
// The cluster after the plan is not completely known. A planned node may get one of several values of a label, and a
// DaemonSet may or may not run there (Daemon). A rule must hold in every case:
//
//   - Anti-affinity counts all pods that may be in a domain of the node.
//   - Affinity counts only pods that are certain to share the node's domain.
//   - Spread compares the highest possible number of pods in the pod's domain with the lowest certain number in another.
//
// Pods with the same namespace, rules and relevant labels form a class, and terms find classes by label. So the cost
// grows linearly with the number of pods.
package podtopology
