package awsemu

import (
	"cmp"
	"maps"
	"slices"
)

// compareStrings orders texts by bytes, as page tokens do.
func compareStrings(a, b string) int { return cmp.Compare(a, b) }

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
