// Package differential holds plans against the scheduler that will carry them out.
//
// Its tests draw random clusters (engine/scenario/random), let the engine plan, build the cluster that the plan leads to
// and replay it, pod by pod, through the filter plugins of the real kube-scheduler: each must accept the node that the
// plan chose. For plans drawn at random that engine/verify accepts there must be an order of arrival in which they do;
// one is searched for. Where the engine says that no node can hold a pod, every type of every pool is tried in every
// offering, and the same plugins must refuse them all, or would in one of the ways in which the plan may come true:
// nobody knows before what the cloud makes of a claim, or which of two pods comes first that keep each other off. Pods
// pass the API server's own defaults and validation first, so that neither side is judged by pods that cannot exist.
package differential
