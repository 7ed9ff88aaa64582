// Package binpack packs items into bins of different types, at a total cost that is close to the least.
//
// It solves the variable-cost vector bin packing problem with side constraints. An item is a number of identical
// copies with a demand in each dimension. A bin type has a capacity in each dimension and offers, each with a price.
// A catalog is a set of bin types with one budget. An offer set is a subset of a catalog's offers. Each item has at most
// one offer set per catalog, and a set of bin types that may hold it. A bin holds copies of items that its type may hold.
// Their demands fit its capacity, and their offer sets have an offer of its type in common. It costs the price of the
// cheapest such offer plus a fee. Side constraints:
//
//   - Conflict groups: each bin has a counter per group. Item.Counts add to it, and Item.Bounds limit it.
//   - Budgets and supplies limit the bins. A budget is a vector of amounts, and each bin type of the catalog has a charge
//     against it. A supply is a number of units. Each bin of certain types uses some of them.
//   - Distinct conditions: the bin types that can hold a bin's contents must have a given number of distinct values.
//
// # Method
//
//  1. Item types. Items with equal demand, offers and bin types form one item type, unless they use different
//     scarce cardinalities (itemset.go). An item class is the items of a type with equal counts and bounds (itemtype.go).
//  2. Dual prices. A price group is the item types that pay the same price in every bin type. The linear relaxation has
//     a dual price per price group and dimension (pricing.go). With one price group, the mean over slightly different
//     demands replaces it. So prices change before the remaining copies suit no mix of bin types. The value of a copy is
//     its demand times these prices, in dollars per hour. Cutting planes solve the relaxation (Kelley 1960), see package lp.
//  3. Construction. A pattern is a set of copies that share a bin. Its ratio is its value per dollar of price. The
//     pattern with the highest ratio that is found is opened as often as copies, budgets and supplies allow, then the next.
//     Dual prices are updated when a twentieth of the value is packed, or if the best ratio is poor (construct.go). This
//     is the pricing step of column generation used greedily (Gilmore and Gomory 1961). Patterns are filled by value and
//     by the direction of the demand (the dot-product heuristic, Panigrahy et al. 2011). Exchanges of copies then improve
//     them (filling.go, order.go, polish.go).
//  4. Few copies per bin. Where bins hold about fewCopies copies or fewer (construct.go), dual prices ignore the gaps
//     that copies leave. If two dimensions limit such bins, package sparse packs all copies again, by column generation
//     with a value per item.
//  5. Improvement. Groups of bins are closed and packed again (ruin and recreate, Schrimpf et al. 2000; improve.go).
//  6. Priorities. If a copy is in no bin although a copy of lower priority is in a bin, all bins are given up. The items of
//     each priority are then packed in turn, highest first, by construction only.
//  7. Paid supplies. If some bin type is Paid and there are no budgets, the copies in bins without a supply are packed again
//     as if all supplies were used up. The cheaper solution is returned (solve.go).
//
// The first dual prices are those of the relaxation for all copies. Later ones are for the remaining copies: those that
// are in no bin yet.
//
// # Guarantees
//
// Solve is deterministic: the same Problem gives the same Solution on any machine and for any order of its items. Numbers
// of steps limit its work, never time. A solution satisfies all constraints and lists the copies without a bin. Without
// budgets and supplies these are only copies that no bin type can hold under the side constraints. Bins that hold all
// copies cost at least the result of function LowerBound, if their types have no supply. The bound ignores fees, budgets,
// conflict groups and Distinct conditions. The package knows nothing of Kubernetes.
//
// Start reading at Solve, then construct.go and pattern.go.
//
// # Literature
//
//   - Gilmore, Gomory: A linear programming approach to the cutting-stock problem. Operations Research 9 (1961).
//   - Kelley: The cutting-plane method for solving convex programs. Journal of SIAM 8 (1960).
//   - Belov, Scheithauer: Setup and open-stacks minimization in one-dimensional stock cutting. INFORMS Journal on
//     Computing 19 (2007).
//   - Chvátal: Linear Programming. Freeman (1983).
//   - Fisher: The Lagrangian relaxation method for solving integer programming problems. Management Science 27 (1981).
//   - Schrimpf et al.: Record breaking optimization results using the ruin and recreate principle. Journal of
//     Computational Physics 159 (2000).
//   - Panigrahy, Talwar, Uyeda, Wieder: Heuristics for vector bin packing. Microsoft Research (2011).
package binpack
