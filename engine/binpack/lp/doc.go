// Package lp solves the linear programs of the engine. They are small and dense: tens of variables, hundreds of rows.
//
// # Program
//
// A Program maximises c·y subject to A·y <= b and y >= 0, where b >= 0, so that y = 0 is feasible. It is solved by the simplex
// method on a dictionary (Chvátal, Linear Programming, 1983, chapters 2, 3 and 10). A Program keeps its dictionary between
// solves and starts from the last basis:
//
//   - after SetObjective the basis is still feasible, and the primal simplex method continues from it;
//   - after AddRow the basis is still dual feasible, and the dual simplex method continues from it.
//
// # Covering
//
// A Covering is the relaxation of a bin packing problem with several groups of items and many bin types. Its dual has too
// many rows to write down. They are added where they are violated (the cutting-plane method, Kelley 1960), and rows that were
// found once are kept for the next solve. The dual solution is a price of each dimension for each group, and by weak duality a
// lower bound on the cost.
//
// # Promises
//
// Results depend only on the calls made, not on the machine: explicit conversions forbid fused multiply-add, and ties are
// broken by index. The number of pivots is bounded; a solve that reaches the bound ends with a feasible y.
package lp
