package wire

import (
	"slices"
	"strings"
)

// A Filter restricts a response to the items with a value for Name that matches one of Values. An item must pass all filters.
type Filter struct {
	Name   string
	Values []string
}

// Filters reads the parameters Filter.N.Name and Filter.N.Value.M.
func Filters(f Form) []Filter {
	var out []Filter
	for _, part := range f.Each("Filter") {
		out = append(out, Filter{Name: part.String("Name"), Values: part.List("Value")})
	}
	return out
}

// A Lookup returns an item's values for the filter with the name. ok is false if the resource does not support that filter.
type Lookup func(name string) (values []string, ok bool)

// Keep returns the items that pass all filters, in their order. A filter with an unknown name is an error, even if there are no
// items.
func Keep[T any](items []T, filters []Filter, lookup func(T) Lookup) ([]T, *Error) {
	var zero T
	for _, filter := range filters {
		if _, ok := lookup(zero)(filter.Name); !ok {
			return nil, Errorf("InvalidParameterValue", "The filter '%s' is invalid", filter.Name)
		}
		if len(filter.Values) == 0 {
			return nil, Errorf("InvalidParameterValue", "The filter '%s' has no value", filter.Name)
		}
	}
	return slices.DeleteFunc(slices.Clone(items), func(item T) bool {
		return !passes(filters, lookup(item))
	}), nil
}

// passes reports whether an item passes every filter.
func passes(filters []Filter, lookup Lookup) bool {
	for _, filter := range filters {
		values, _ := lookup(filter.Name)
		hit := slices.ContainsFunc(filter.Values, func(pattern string) bool {
			return slices.ContainsFunc(values, func(v string) bool { return Match(pattern, v) })
		})
		if !hit {
			return false
		}
	}
	return true
}

// TagLookup returns the values of tags for the filters tag:KEY, tag-key and tag-value.
func TagLookup(tags map[string]string, name string) (values []string, ok bool) {
	if key, isTag := strings.CutPrefix(name, "tag:"); isTag {
		if v, set := tags[key]; set {
			return []string{v}, true
		}
		return nil, true
	}
	switch name {
	case "tag-key":
		for k := range tags {
			values = append(values, k)
		}
		return values, true
	case "tag-value":
		for _, v := range tags {
			values = append(values, v)
		}
		return values, true
	}
	return nil, false
}

// Match reports whether text matches an EC2 filter pattern. * matches any number of characters, ? matches one character, and a
// backslash quotes the next character. It is case-sensitive.
func Match(pattern, text string) bool {
	// After a mismatch, the match continues at the last star, which then matches one more character. The time is at most
	// proportional to the product of both lengths.
	p, t, star, mark := 0, 0, -1, 0
	for t < len(text) {
		if p < len(pattern) && pattern[p] == '*' {
			star, mark = p, t
			p++
			continue
		}
		if width, ok := matchOne(pattern[p:], text[t]); ok {
			p += width
			t++
			continue
		}
		if star < 0 {
			return false
		}
		mark++
		p, t = star+1, mark
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// matchOne matches one character. width is the length of the part of the pattern that matched.
func matchOne(pattern string, c byte) (width int, ok bool) {
	switch {
	case pattern == "":
		return 0, false
	case pattern[0] == '\\' && len(pattern) > 1:
		return 2, pattern[1] == c
	case pattern[0] == '?':
		return 1, true
	}
	return 1, pattern[0] == c
}
