// Package sparse packs items into bins that hold few copies each. Two dimensions limit the contents of a bin.
//
// If bins hold few copies, some copies leave gaps that no other copy fits into. Dual prices of capacity do not show this.
// Here each item has a value of its own: about what its copies cost in a good packing.
//
// Pack packs all copies several times. A pattern is a set of copies that share a bin. A packing is greedy: until all copies
// are packed, it takes the most valuable remaining copy and adds a pattern that contains it, the one with the highest
// value per dollar that it finds. search.go finds the pattern, gaps.go the copies that fill a gap. After each packing, Pack
// moves the values towards what the copies cost in it (sequential value correction, Belov and Scheithauer 2007). It returns
// the cheapest packing if that is cheaper than the given price.
//
// Begin with pack.go.
package sparse
