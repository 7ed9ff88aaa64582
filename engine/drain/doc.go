// Package drain decides in which order, and by which means, the pods and volumes of a node leave before it is
// terminated.
//
// Begin with Decide. Its input is a State: the pods and volumes of the node, the time and the deadline. Its output is a
// Decision: the pods to evict or delete now, what holds the others, and when to decide again. It guarantees the
// following.
//
//   - Pods leave in tiers: ordinary pods, ordinary DaemonSet pods, critical pods, critical DaemonSet pods. A tier begins when
//     no pod of the tiers before it has to leave any more, so logging, DNS and CNI outlive the pods that use them.
//   - Until shortly before the deadline, do-not-disrupt and PodDisruptionBudgets are respected. Then each pod is deleted
//     early enough for its full grace period.
//   - The result does not depend on the order of the input.
//   - Decision.Again is when time alone changes the result. Before that, only events can change it.
//
// Whether a PodDisruptionBudget allows an eviction is shown only by an eviction request to the API server. So Decide
// returns the pods to try, and State.Refused holds the refusals.
//
// The rules are those of Karpenter: https://karpenter.sh/docs/concepts/disruption/#termination-controller
package drain
