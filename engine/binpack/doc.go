// Package binpack packs items into bins of different types at the least total cost.
//
// It solves the variable-cost vector bin packing problem with side constraints. An item has a demand in each dimension and a
// number of copies. A bin type has a capacity in each dimension and offers, each with a price. Items name the sets of offers
// that a bin with them may use: a bin holds copies whose demands fit its capacity and whose offer sets have an offer in common,
// and it costs the cheapest of these plus a fee. Side constraints:
//
//   - Bounds limit how many counted copies of a conflict group share a bin.
//   - Shared demands are paid for once by each bin, however many of its items have them.
//   - Supplies and budgets limit which bins may be opened.
//   - Distinct conditions demand that a bin keeps several types as options.
//
// # Method
//
//  1. Item types. Items with equal demand and offers are one item type, with classes of equal conflicts (itemtype.go, demand.go).
//  2. Prices. The linear relaxation has a dual price for a unit of each dimension, for each group of items that pay the same
//     prices, and with them a value for a copy of each item type (pricing.go). It is solved by cutting planes (Kelley 1960),
//     see package lp.
//  3. Construction. A pattern is a set of copies that share a bin. The pattern with the most value per dollar is opened as often
//     as copies, budgets and supplies allow, then the next; prices are found anew when a twentieth of the value is packed
//     (construct.go). This is the pricing step of column generation used greedily (Gilmore and Gomory 1961). Patterns are filled
//     by value and by the direction of the demand (the dot-product heuristic, Panigrahy et al. 2011), and then polished by
//     exchanges (filling.go, order.go, polish.go).
//  4. Column generation. Where bins hold few copies, these are valued by what they fit together with (package colgen). The
//     restricted master problem is solved by a subgradient method (Fisher 1981) with Polyak's step length.
//  5. Improvement. Groups of bins are closed and packed again (ruin and recreate, Schrimpf et al. 2000; improve.go).
//
// # Promises
//
// Solve is deterministic: the same Problem gives the same Solution on any machine and for any order of its items. Its work is
// bounded by counts and by Options.MaxSteps, and never by time. A solution obeys all constraints; what it leaves out is listed.
// Without budgets and supplies it leaves out only copies that no bin type holds, unless MaxBins or MaxSteps end it. No set of
// bins costs less than LowerBound. The package knows nothing of Kubernetes and imports nothing but the standard library.
//
// Start reading at Solve, then construct.go and pattern.go.
//
// # Literature
//
//   - Gilmore, Gomory: A linear programming approach to the cutting-stock problem. Operations Research 9 (1961).
//   - Kelley: The cutting-plane method for solving convex programs. Journal of SIAM 8 (1960).
//   - Polyak: Minimization of unsmooth functionals. USSR Computational Mathematics 9 (1969).
//   - Fisher: The Lagrangian relaxation method for solving integer programming problems. Management Science 27 (1981).
//   - Chvátal: Linear Programming. Freeman (1983).
//   - Schrimpf et al.: Record breaking optimization results using the ruin and recreate principle. Journal of Computational
//     Physics 159 (2000).
//   - Belov, Scheithauer: Setup and open-stacks minimization in one-dimensional stock cutting. INFORMS Journal on Computing 19
//     (2007).
//   - Panigrahy, Talwar, Uyeda, Wieder: Heuristics for vector bin packing. Microsoft Research (2011).
package binpack
