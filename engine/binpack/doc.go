// Package binpack packs items into bins of different types at the least total cost.
package binpack
