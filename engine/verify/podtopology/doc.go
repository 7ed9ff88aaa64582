// Package podtopology checks for engine/verify the rules that pods have about other pods: required affinity, required
// anti-affinity and topology spread constraints with DoNotSchedule.
//
// It checks the cluster that a plan leads to. Anti-affinity does not depend on the order in which pods arrive, so it is checked
// once with all pods in place. Affinity and spread do: the pods are placed one after another in the order of the plan (replay),
// and each must satisfy its rules among the pods that were placed before it, as in kube-scheduler. Pods without a position in the
// order are placed afterwards, in any order that works.
//
// Not everything about the cluster is certain. A node that does not exist yet may get one of several values of a label, and a pod
// of a DaemonSet may or may not come to it (Presence). A rule must hold in every case:
//
//   - a pod that must avoid others is checked against all pods that may be in its domain;
//   - a pod that needs others is checked against pods that are certain to be in a domain that is certain;
//   - spread compares the most pods that the pod's own domain may hold with the fewest that any other domain holds for certain.
//
// Pods with the same namespace, rules and relevant labels form a class, and rules find the classes that they select by label.
// So the cost grows with the number of pods, not with its square.
package podtopology
