// Package colgen packs items into bins that hold few copies each, by column generation in two dimensions.
//
// If bins hold few copies, some copies leave gaps that no other copy fits into. Dual prices of capacity do not show
// this; dual prices of items do. They belong to the linear program that covers all copies by columns at the least cost.
// A column is a set of copies that fits in one bin (Gilmore and Gomory 1961):
//
//	minimise    sum over columns j of price[j]*x[j]
//	subject to  sum over j of count[i][j]*x[j] >= copies[i]   for each item i,   x >= 0
//
// x[j] is how often column j is used, and count[i][j] the number of copies of item i in it. The restricted master problem
// contains only the columns generated so far. The dual price of an item in it is called the item's value.
//
// Generate alternates two steps. search.go generates the columns with the highest value per dollar. master.go recomputes
// the values. Then Generate packs all copies greedily by these values, several times. After each time it moves the
// values towards what the copies cost in the result (Belov and Scheithauer 2007).
package colgen
