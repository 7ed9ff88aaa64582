// Package drain decides how the pods and volumes of a node that goes away leave it.
//
// Decide is a pure function: what is on the node, the time and the deadline go in; which pods to evict or delete now, what
// holds the rest, what is waited for and when to look again come out. It promises that
//
//   - pods leave in tiers, and a tier is touched only when the earlier ones are gone: ordinary pods, ordinary daemons,
//     critical pods, critical daemons. So whatever a pod needs to shut down (logging, DNS, the CNI) outlives it;
//   - before the deadline nothing leaves against its will: do-not-disrupt and disruption budgets hold for as long as it
//     takes. Near the deadline each pod is deleted early enough to have its whole grace period;
//   - the answer depends on no order of the input: pods are sorted by namespace and name;
//   - whenever time alone can change the answer, Again says when. Otherwise only an event can, and nobody needs to poll.
//
// Whether a disruption budget allows an eviction is known only to the API server, and only when asked. So Decide names the
// pods to try; a refusal comes back in with State.Refused.
//
// Karpenter's rules are kept, its polling is not: https://karpenter.sh/docs/concepts/disruption/#termination-controller
package drain
