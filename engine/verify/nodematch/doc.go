// Package nodematch decides for engine/verify whether a node matches a pod by the node's labels and taints.
//
// The labels of a node that does not exist yet are known only in part. Each label has a list of possible values, and a LabelSet is
// one combination of them. A pod may run on the node for certain if its node selector matches every LabelSet of the node.
//
// Node selectors and tolerations are evaluated by the helpers of kube-scheduler (k8s.io/component-helpers). The package shares no
// code with the solver: engine/require is not imported.
package nodematch
