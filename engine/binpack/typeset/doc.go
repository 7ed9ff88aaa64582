// Package typeset represents sets of bin types as bits, 64 types in a word, and small sets of numbers as sorted lists.
// Package binpack uses them for the types that hold an item, and for shared demands.
package typeset
