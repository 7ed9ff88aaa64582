package catalog

import (
	"fmt"
	"slices"
)

// A DaemonFilter selects new nodes by the DaemonSets whose pods may run there, for pods with constraints on DaemonSet pods.
// Equal filters share a pointer. A nil filter allows all nodes.
type DaemonFilter struct {
	// Avoid lists the DaemonSets that must not run on the node. DaemonSets are given by their index in Snapshot.Daemons.
	Avoid []int
	// OneOf lists sets of DaemonSets. At least one of each set must be certain to run on the node.
	OneOf [][]int
}

// admits reports whether a new node on which the DaemonSets in on may run meets the filter.
func (f *DaemonFilter) admits(on []Presence) bool {
	if slices.ContainsFunc(on, func(x Presence) bool { return slices.Contains(f.Avoid, x.Index) }) {
		return false
	}
	return !slices.ContainsFunc(f.OneOf, func(set []int) bool {
		return !slices.ContainsFunc(on, func(x Presence) bool { return x.Certain && slices.Contains(set, x.Index) })
	})
}

// Daemons returns the DaemonFilter with these fields, nil if it allows all nodes.
func (in *Interner) Daemons(avoid []int, oneOf [][]int) *DaemonFilter {
	if len(avoid)+len(oneOf) == 0 {
		return nil
	}
	return intern(in.daemons, fmt.Append(nil, avoid, oneOf), DaemonFilter{Avoid: avoid, OneOf: oneOf})
}

// BothAdmit returns the filter for nodes that meet both a and b.
func (in *Interner) BothAdmit(a, b *DaemonFilter) *DaemonFilter {
	switch {
	case a == nil:
		return b
	case b == nil || a == b:
		return a
	}
	return in.Daemons(slices.Concat(a.Avoid, b.Avoid), slices.Concat(a.OneOf, b.OneOf))
}
