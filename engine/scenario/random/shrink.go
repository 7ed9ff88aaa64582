package random

import (
	"maps"
	"slices"

	"github.com/karpenter-go/karpenter/engine/scenario"
)

// maxTrials bounds how many clusters Shrink tests.
const maxTrials = 4000

// Shrink removes parts of c one at a time, large parts first, and then lowers counts of pods. It keeps a change if
// broken still returns true. It returns the smallest cluster found with at most maxTrials calls of broken. broken must
// return true for c and must depend on the cluster alone.
func Shrink(c *scenario.Cluster, broken func(*scenario.Cluster) bool) *scenario.Cluster {
	s := shrinker{tree: treeOf(c), broken: broken, trials: maxTrials}
	for s.round() && s.trials > 0 {
	}
	small, ok := clusterOf(s.tree)
	if !ok {
		return c
	}
	return small
}

type shrinker struct {
	tree   any
	broken func(*scenario.Cluster) bool
	trials int
}

// round tries to remove each part once and to lower each count, and reports whether it did any of that.
func (s *shrinker) round() bool {
	smaller := false
	for depth := 1; depth <= 12; depth++ {
		// Parts are tried from the end, because removing an element changes the indexes after it.
		for _, at := range slices.Backward(parts(s.tree, nil, depth)) {
			if s.try(without(s.tree, at)) {
				smaller = true
			}
		}
	}
	for _, at := range counts(s.tree, nil) {
		for s.try(lowered(s.tree, at)) {
			smaller = true
		}
	}
	return smaller
}

// try replaces the current tree by tree if the law is still violated, and reports whether it did.
func (s *shrinker) try(tree any) bool {
	if tree == nil || s.trials == 0 {
		return false
	}
	s.trials--
	c, ok := clusterOf(tree)
	if !ok || !s.broken(c) {
		return false
	}
	s.tree = tree
	return true
}

// A path identifies a part of a tree: the keys of maps and indexes of lists from the root to the part.
type path []any

func (p path) to(step any) path { return append(slices.Clone(p), step) }

// needed are keys that are not removed, because an object without them is invalid or has another meaning.
var needed = map[string]bool{
	"name": true, "key": true, "operator": true, "topologyKey": true, "maxSkew": true, "whenUnsatisfiable": true,
	"containerPort": true, "price": true, "types": true, "pool": true, "type": true, "values": true, "effect": true,
	"nodeSelectorTerms": true, "podAffinityTerm": true, "preference": true, "namespace": true,
	// A selector without terms matches everything, but a missing selector matches nothing.
	"labelSelector": true, "matchLabels": true, "matchExpressions": true,
}

// parts returns the paths of all parts at the depth that may be removed. The only element of a list is not removed,
// but the list may be removed as a whole.
func parts(v any, at path, depth int) []path {
	var out []path
	step := func(child any, next path, may bool) {
		if depth > 1 {
			out = append(out, parts(child, next, depth-1)...)
		} else if may {
			out = append(out, next)
		}
	}
	switch v := v.(type) {
	case map[string]any:
		selector := len(at) > 0 && at[len(at)-1] == "matchLabels" && len(v) == 1
		for _, k := range slices.Sorted(maps.Keys(v)) {
			step(v[k], at.to(k), !selector && (!needed[k] || len(at) == 0))
		}
	case []any:
		for i, child := range v {
			step(child, at.to(i), len(v) > 1)
		}
	}
	return out
}

// without returns a copy of v without the part at the path.
func without(v any, at path) any {
	return changed(v, at, func(any) (any, bool) { return nil, false })
}

// counts returns the paths of all fields count that are greater than 1.
func counts(v any, at path) []path {
	var out []path
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if n, ok := v[k].(float64); ok && k == "count" && n > 1 {
				out = append(out, at.to(k))
			}
			out = append(out, counts(v[k], at.to(k))...)
		}
	case []any:
		for i, child := range v {
			out = append(out, counts(child, at.to(i))...)
		}
	}
	return out
}

// lowered returns a copy of v in which the number at the path is one less, or nil if it is 1 already.
func lowered(v any, at path) any {
	least := false
	out := changed(v, at, func(old any) (any, bool) {
		n := old.(float64)
		least = n <= 1
		return n - 1, true
	})
	if least {
		return nil
	}
	return out
}

// changed returns a copy of v in which the part at the path is replaced by the result of by, or removed if by returns
// false. All other parts are shared with v. The result is nil if v itself does not have the first step of the path.
func changed(v any, at path, by func(any) (any, bool)) any {
	switch step := at[0].(type) {
	case string:
		old, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		out := maps.Clone(old)
		if len(at) > 1 {
			out[step] = changed(old[step], at[1:], by)
		} else if child, stays := by(old[step]); stays {
			out[step] = child
		} else {
			delete(out, step)
		}
		return out
	case int:
		old, ok := v.([]any)
		if !ok || step >= len(old) {
			return nil
		}
		out := slices.Clone(old)
		if len(at) > 1 {
			out[step] = changed(old[step], at[1:], by)
		} else if child, stays := by(old[step]); stays {
			out[step] = child
		} else {
			out = slices.Delete(out, step, step+1)
		}
		return out
	}
	return nil
}
