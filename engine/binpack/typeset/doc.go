// Package typeset represents sets of bin types as bits, one word for 64 types. Package binpack keeps in
// them the types that fit each item.
package typeset
