// Package nodematch decides for engine/verify whether a node matches a pod by its labels. Begin with Index.
//
// Some labels of a planned node are not known yet. Each has a list of possible values, and a LabelSet is one
// combination of them. A pod can certainly run on the node if its node selector matches each LabelSet of the node.
//
// Node selectors are evaluated by a helper of kube-scheduler (k8s.io/component-helpers). The package shares no code with
// the packer, not even engine/require.
package nodematch
