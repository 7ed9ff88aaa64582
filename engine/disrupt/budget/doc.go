// Package budget counts how many nodes and pods may still be disrupted: by the disruption budgets of NodePools
// (NodePools), and by PodDisruptionBudgets (PDBs).
//
// Both count for all commands of a decision together. What one command uses is not available to the next. Begin with
// NodePools.Allow and PDBs.Allow.
package budget
