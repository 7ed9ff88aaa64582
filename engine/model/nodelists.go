package model

import (
	"iter"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// nodeLists are lists of the nodes of a Snapshot, in the order of their identities. They are read-only.
type nodeLists struct {
	all []*Node
	// deleting are the nodes that are being deleted, repelling those with pods in Node.Repelling, and softlyTainted those with a
	// PreferNoSchedule taint. There are few of them, and each plan needs them.
	deleting, repelling, softlyTainted []*Node
}

func newNodeLists(all []*Node) nodeLists {
	l := nodeLists{all: all}
	for _, n := range all {
		l.note(n)
	}
	return l
}

// note adds n to the lists other than all.
func (l *nodeLists) note(n *Node) {
	if n.Deleting {
		l.deleting = append(l.deleting, n)
	}
	if len(n.Repelling) > 0 {
		l.repelling = append(l.repelling, n)
	}
	if slices.ContainsFunc(n.Taints, func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectPreferNoSchedule }) {
		l.softlyTainted = append(l.softlyTainted, n)
	}
}

// changed returns the lists of next, a snapshot that differs in the nodes with the given identities at most. Making new lists of all
// nodes would take longer.
func (l nodeLists) changed(next *Snapshot, identities map[string]bool) nodeLists {
	left := l.all
	kept := func(list []*Node) []*Node {
		return slices.DeleteFunc(slices.Clone(list), func(n *Node) bool { return identities[n.identity()] })
	}
	to := nodeLists{
		all:      make([]*Node, 0, next.derived.nodes.Len()),
		deleting: kept(l.deleting), repelling: kept(l.repelling), softlyTainted: kept(l.softlyTainted),
	}
	for _, id := range slices.Sorted(maps.Keys(identities)) {
		i, found := slices.BinarySearchFunc(left, id, func(n *Node, id string) int { return strings.Compare(n.identity(), id) })
		to.all, left = append(to.all, left[:i]...), left[i:]
		if found {
			left = left[1:]
		}
		if n, ok := next.derived.nodes.Get(id); ok {
			to.all = append(to.all, n)
			to.note(n)
		}
	}
	to.all = append(to.all, left...)
	for _, list := range [][]*Node{to.deleting, to.repelling, to.softlyTainted} {
		slices.SortFunc(list, func(a, b *Node) int { return strings.Compare(a.identity(), b.identity()) })
	}
	return to
}

// listsOf returns the lists of the Snapshot.
func listsOf(s *Snapshot) nodeLists {
	if s.derived.lists == nil {
		return nodeLists{}
	}
	return s.derived.lists()
}

// Nodes returns all nodes, existing and being launched, in the order of their identities.
func (s *Snapshot) Nodes() []*Node { return slices.Clone(listsOf(s).all) }

// NodesInOrder iterates over Nodes without copying the list.
func (s *Snapshot) NodesInOrder() iter.Seq[*Node] { return slices.Values(listsOf(s).all) }

// Repelling returns the nodes of s with pods in Node.Repelling, in the order of their identities.
func Repelling(s *Snapshot) []*Node { return slices.Clone(listsOf(s).repelling) }

// SoftlyTainted reports whether some node of s has a PreferNoSchedule taint.
func SoftlyTainted(s *Snapshot) bool { return len(listsOf(s).softlyTainted) > 0 }
