package require

import "slices"

// Normalize returns the key that aliases gives for key, or key itself: the stable
// name of a label that once had another. Aliases are followed once.
func Normalize(key string, aliases map[string]string) string {
	if stable, ok := aliases[key]; ok {
		return stable
	}
	return key
}

// Normalize returns s with aliased keys under their stable names. What was said
// under several names of one label must all hold.
func (s Set) Normalize(aliases map[string]string) Set {
	aliased := func(r Requirement) bool { return Normalize(r.key, aliases) != r.key }
	if !slices.ContainsFunc(s.reqs, aliased) {
		return s
	}
	rs := slices.Clone(s.reqs)
	for i := range rs {
		rs[i].key = Normalize(rs[i].key, aliases)
	}
	return fold(rs)
}
