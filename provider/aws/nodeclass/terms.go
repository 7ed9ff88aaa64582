package nodeclass

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// mostTerms is how many selector terms a condition lists. Further ones are only counted.
const mostTerms = 3

// terms formats selector terms for a condition: [tags karpenter.sh/discovery=demo; id subnet-1].
func terms[T any](list []T) string {
	var out []string
	for i, term := range list {
		if i == mostTerms {
			out = append(out, fmt.Sprintf("and %d more", len(list)-mostTerms))
			break
		}
		out = append(out, describe(term))
	}
	return "[" + strings.Join(out, "; ") + "]"
}

// describe formats the fields of one term that are set, in the order of their names.
func describe(term any) string {
	raw, err := json.Marshal(term)
	fields := map[string]any{}
	if err == nil {
		err = json.Unmarshal(raw, &fields)
	}
	if err != nil {
		panic(fmt.Sprintf("encode %#v: %v", term, err)) // cannot happen: the term was decoded from JSON
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if tags, ok := fields[name].(map[string]any); ok {
			pairs := make([]string, 0, len(tags))
			for _, key := range slices.Sorted(maps.Keys(tags)) {
				pairs = append(pairs, fmt.Sprintf("%s=%v", key, tags[key]))
			}
			parts = append(parts, name+" "+strings.Join(pairs, ","))
			continue
		}
		parts = append(parts, fmt.Sprintf("%s %v", name, fields[name]))
	}
	return strings.Join(parts, ", ")
}
