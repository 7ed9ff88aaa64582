// Package colgen packs items into bins that hold few copies each, by column generation in two dimensions.
//
// Prices of capacity cannot distinguish a copy that leaves an unusable gap from one that leaves none. Prices of items
// can. They are the dual prices of the linear program that covers all copies by columns at the least cost. A column
// is a set of copies that fits in one bin (Gilmore and Gomory 1961):
//
//	minimise    sum over columns j of price[j]*x[j]
//	subject to  sum over j of count[i][j]*x[j] >= copies[i]   for each item i,   x >= 0
//
// The restricted master problem contains the columns generated so far. Its dual price of an item is the item's value.
// Generate alternates two steps: search.go generates columns by the values, and master.go recomputes the values.
// Finally Generate packs all copies greedily by these values several times. After each time it moves the values
// towards the actual cost of the copies (Belov and Scheithauer 2007).
package colgen
