package require

import "slices"

// Normalize returns the stable key of a deprecated label key, or key itself. aliases map deprecated keys to stable
// ones.
func Normalize(key string, aliases map[string]string) string {
	if stable, ok := aliases[key]; ok {
		return stable
	}
	return key
}

// Normalize returns s with deprecated keys replaced by stable ones. The requirements of a key and its aliases are
// intersected.
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
