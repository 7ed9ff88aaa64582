// Package lp solves the linear programs of the engine. They are small and dense: tens of variables, hundreds of rows.
//
// # Program
//
// A Program maximises c·y subject to A·y <= b and y >= 0. b must be nonnegative, so that y = 0 is feasible. The
// simplex method solves it on a dictionary (Chvátal, Linear Programming, 1983, chapters 2, 3 and 10). A Program keeps
// its dictionary between solves and starts from the last basis:
//
//   - after SetObjective the basis is still primal feasible, and the primal simplex method continues from it;
//   - after AddRow the basis is still dual feasible, and the dual simplex method continues from it.
//
// # Covering
//
// A Covering is the relaxation of a bin packing problem with several groups of items and many bin types. Its dual has
// too many rows to write down, so the cutting-plane method adds only violated rows (Kelley 1960). The next solve reuses
// the rows of earlier solves. The dual solution is a price per group and dimension. Its objective is a lower bound on
// the cost, by weak duality.
//
// # Guarantees
//
// Results depend only on the calls made, not on the machine: explicit conversions prevent fused multiply-add, and
// indices break ties. The number of pivots is limited. A solve that reaches the limit ends with a feasible y.
package lp
