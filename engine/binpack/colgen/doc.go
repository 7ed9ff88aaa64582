// Package colgen packs items into bins of which few fit into one, by column generation in two dimensions.
//
// By capacity alone, a copy that leaves a gap which nothing fills is worth as much as one that leaves none. Here copies are
// worth what they cost together with what fits beside them: the dual prices of the linear program that covers all copies by
// columns, sets of copies each of which fits in one bin, at the least cost (Gilmore and Gomory 1961),
//
//	minimise    sum over columns j of price[j]*x[j]
//	subject to  sum over j of count[i][j]*x[j] >= copies[i]   for each item i,   x >= 0
//
// The restricted master problem has the columns that are known. Columns are searched for by the values that are known, values
// are found anew from all columns known, and so on; see search.go and master.go. In the end bins are opened greedily by these
// values, a few times, and each time values move towards what copies really cost (Belov and Scheithauer 2007).
package colgen
