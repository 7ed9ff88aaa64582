// Package budget counts how many nodes and pods may still be disrupted: by the disruption budgets of NodePools, and by
// PodDisruptionBudgets.
//
// Both count for all commands of a decision together. What one command uses up is no longer available to the next.
package budget
