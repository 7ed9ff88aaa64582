// Package sparse packs items into bins that hold few copies each. Two dimensions limit the contents of a bin.
//
// If bins hold few copies, some copies leave gaps that no other copy fits into. Dual prices of capacity do not show this.
// Here each item has a value of its own: about what its copies cost in a good packing. A pattern is a set of copies that
// share a bin.
//
//  1. Column generation (Gilmore and Gomory 1961). The linear program that covers all copies by patterns at the least cost
//     has a dual price per item: its value. The restricted master problem contains only some patterns, at first those of
//     one packing. Pack adds the patterns with a high value per dollar (search.go), then recomputes the values (master.go),
//     a few times.
//  2. Packings. A packing is greedy: until all copies are packed, it takes the most valuable remaining copy and adds a
//     pattern that contains it, the one with the highest value per dollar that it finds. search.go finds the pattern,
//     gaps.go the copies that fill a gap. After each packing, Pack moves the values towards what the copies cost in it
//     (sequential value correction, Belov and Scheithauer 2007).
//
// Pack returns the cheapest packing if that is cheaper than the given price.
//
// Begin with pack.go.
package sparse
