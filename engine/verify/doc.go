// Package verify checks a plan against the objects it was made from.
//
// It is the second opinion: it knows nothing of how plans are made, reads pods,
// pools, nodes and claims as they came from the API server, and asks the helpers
// that kube-scheduler itself uses whether a pod fits, tolerates and matches. Where
// the two could share code they do not, so that one mistake is not made twice.
//
// The promise that is checked is the strong one: a node to launch must do for its
// pods whichever of its types and offerings the cloud picks, and whichever value a
// label gets that the plan leaves open. Sums of money, limits and minimum
// diversity are added up again.
//
// A plan that was made by correct code has no violations. Whoever carries out
// plans refuses one that has any; tests run every plan they make through here.
//
// What pods ask of each other (spread, affinity, anti-affinity) is checked in the cluster
// as the plan leaves it. It costs about as much as there are pods, however many ask: pods
// that are alike to everyone count together, and terms find them by their labels.
//
// What is not looked at: preferences of pods, device claims, and whether a refused pod could
// have been placed after all.
package verify
