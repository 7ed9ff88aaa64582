// Package verify checks a plan against the objects it was made from.
//
// It shares no code with the solver, so that a mistake is not made in both. It reads pods, pools, nodes and claims as they came
// from the API server. Whether a pod fits, tolerates and matches is decided by the helpers that kube-scheduler uses.
//
// A node to launch must suit its pods whichever of its types and offerings the cloud chooses, and whichever value a label gets that
// the plan leaves open. Prices, limits and minValues are added up again. Rules of pods about other pods are checked by placing the
// pods in the order of the plan (package podtopology); labels and taints are matched by package nodematch.
//
// A plan that was made by correct code has no violations. A node, pool or pod with a violation is dropped from the plan before the
// plan is carried out, and tests check every plan that they make.
//
// Not checked: preferences of pods, device claims, and whether a refused pod could have been placed.
//
// To read the code begin with Rules.Plan, then planned.go and existing.go for what a node must hold, template.go and option.go for
// what a node may become, and podtopology.
package verify
