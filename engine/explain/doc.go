// Package explain builds texts for users: why a pod is refused and what to change, and why a planned node has its type
// and price.
//
// Begin with Explainer. Its method Refusal returns findings about a refusal of a plan. Its method Node returns sentences about
// a planned node. A verdict names only the first rule that a pool breaks. An Explainer also checks the other rules on the
// same Snapshot, so that its fix is sufficient, and it sorts pools by the number of obstacles. No decision depends on
// this package.
package explain
