package random

import (
	"maps"
	"slices"

	"github.com/karpenter-go/karpenter/engine/scenario"
)

// maxTrials bounds how many clusters Shrink looks at.
const maxTrials = 4000

// Shrink returns the smallest cluster that it finds by leaving out parts of c, one at a time, for which broken still
// holds. Large parts go first. broken must hold for c and must be a function of the cluster alone.
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

// round tries to leave out each part once, and reports whether one could be.
func (s *shrinker) round() bool {
	smaller := false
	for depth := 1; depth <= 12; depth++ {
		// From the end, so that what is left out does not move what is still to be tried.
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

// try keeps tree if the law is still broken.
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

// A path leads from the root to a part: keys of maps and indexes of lists.
type path []any

func (p path) to(step any) path { return append(slices.Clone(p), step) }

// needed are keys without which an object makes no sense.
var needed = map[string]bool{
	"name": true, "key": true, "operator": true, "topologyKey": true, "maxSkew": true, "whenUnsatisfiable": true,
	"containerPort": true, "price": true, "types": true, "pool": true, "type": true, "values": true, "effect": true,
	"nodeSelectorTerms": true, "podAffinityTerm": true, "preference": true, "namespace": true,
	// A selector without terms matches everything, one that is missing nothing: another story than the one that broke.
	"labelSelector": true, "matchLabels": true, "matchExpressions": true,
}

// parts returns the paths of all parts at that depth that may be left out. Of a list at least one element stays; the list
// as a whole may go.
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

// without returns a copy of v without the part, or nil if that would leave an empty list.
func without(v any, at path) any {
	return changed(v, at, func(any) (any, bool) { return nil, false })
}

// counts returns the paths of all numbers of replicas.
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

// lowered returns a copy of v with one less at the path, or nil if that is one already.
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

// changed returns a copy of v in which the part at the path is what by makes of it, or gone if by returns false. What does
// not lie on the path is shared.
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
