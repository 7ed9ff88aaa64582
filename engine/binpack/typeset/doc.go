// Package typeset represents sets of bin types as bits, 64 types in a word. Package binpack uses them for the types that
// hold an item.
package typeset
