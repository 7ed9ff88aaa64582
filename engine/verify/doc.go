// Package verify checks a plan against the objects from which it was made, and returns its violations.
//
// Begin with Rules.Plan. Then read planned.go and existing.go (what a node must hold), template.go and option.go (what
// a planned node may become), and package podtopology. Commands checks the commands of disruption.
//
// The package shares no code with the packer, so that they do not share mistakes. It reads pods, pools, labels and taints as
// the API server has them. The resources and the stage of existing nodes, and the pods of DaemonSets, are those of the
// snapshot. It uses the helpers of kube-scheduler for requests, node affinity and tolerations.
//
// A planned node must suit its pods whichever of its types and offerings is launched. It must also suit them for each
// value of each label that the plan does not determine. Prices, limits and minValues are computed again. Constraints of
// pods about other pods are checked by placing the pods in the order of the plan (podtopology). Package nodematch
// matches labels and taints.
//
// A correct plan has no violations. If a plan has some, the nodes, pools or pods concerned are dropped before it is
// executed. Tests check every plan that they make.
//
// Not checked: preferences of pods, device claims, and whether a refused pod could have been placed.
package verify
