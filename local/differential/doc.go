// Package differential compares plans of the engine with the filter plugins of the real kube-scheduler.
//
// Its tests draw random clusters (engine/scenario/random), plan, build the cluster that results, and bind its pods one
// by one. The plugins must accept each pod on the node that the plan chose. For random plans that engine/verify
// accepts, there must be an order of arrival in which the plugins accept all pods. The tests search for such an order.
// If the engine refuses a pod, the tests try every offering of every type of every pool. The plugins must refuse each
// in at least one outcome of the plan. Outcomes differ in the instances that the cloud chooses, and in the order of
// pods with anti-affinity to each other. All pods pass the API server's defaulting and validation first.
package differential
