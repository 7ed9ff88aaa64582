package awsemu

import (
	"cmp"
	"maps"
	"slices"
)

// compareStrings compares texts by bytes, in the order of page tokens.
func compareStrings(a, b string) int { return cmp.Compare(a, b) }

// sortedKeys returns the keys of a map in ascending order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
