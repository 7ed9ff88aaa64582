package pack

import (
	"math"
	"slices"

	"github.com/karpenter-go/karpenter/engine/pack/assign"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// A load holds, for each group per node, the number of its pods on a planned node. It also holds the most that the
// required anti-affinity of those pods tolerates.
type perNodeCounts []perNodeCount

type perNodeCount struct{ group, present, limit int }

// perNodeCountsOf returns the load of a planned node. It ignores the spread rules of the node's pods. Spread binds a pod only
// when it is placed, and other pods are added later.
func perNodeCountsOf(n *node) perNodeCounts {
	var l perNodeCounts
	for _, x := range n.pool.Bins().Types[n.typ].Preload {
		l = l.add(x.Group, x.N)
	}
	for _, x := range n.parts {
		for i, m := range x.segment.Members {
			l = l.add(m, x.copies*x.segment.Weight(i))
		}
		for _, r := range x.segment.Rules {
			if r.Kind != topology.Apart || r.Soft {
				continue
			}
			most := 0
			if r.Self {
				most = 1
			}
			l = l.add(r.Group, 0)
			at := l.of(r.Group)
			at.limit = min(at.limit, most)
		}
	}
	return l
}

// of returns the load of a group, or nil.
func (l perNodeCounts) of(group int) *perNodeCount {
	if i := slices.IndexFunc(l, func(x perNodeCount) bool { return x.group == group }); i >= 0 {
		return &l[i]
	}
	return nil
}

// add adds n pods of the group and returns the load.
func (l perNodeCounts) add(group, n int) perNodeCounts {
	if x := l.of(group); x != nil {
		x.present += n
		return l
	}
	return append(l, perNodeCount{group: group, present: n, limit: math.MaxInt32})
}

func (l perNodeCounts) present(group int) int {
	if x := l.of(group); x != nil {
		return x.present
	}
	return 0
}

// admits reports whether a pod of the segment can be added to the node.
func (l perNodeCounts) admits(s *assign.Segment) bool {
	for _, r := range s.Rules {
		present := l.present(r.Group)
		switch {
		case r.Kind == topology.Apart && present > 0, r.Kind == topology.Spread && present > r.MaxSkew,
			r.Kind == topology.Spread && r.Self && present >= r.MaxSkew:
			return false
		}
	}
	for i, m := range s.Members {
		if x := l.of(m); x != nil && x.present+s.Weight(i) > x.limit {
			return false
		}
	}
	return true
}

// meetsAffinity reports whether the pods on the node meet the required affinity per node of the segment's pods.
// Affinity also counts as met if kube-scheduler's first-pod exception applies; see compile.Rule.Affinity.
func (l perNodeCounts) meetsAffinity(s *assign.Segment, a *assign.Assignment) bool {
	for i := range s.Rules {
		r := &s.Rules[i]
		if r.Kind == topology.Near && l.present(r.Group) == 0 && !a.MayBeFirst(r) {
			return false
		}
	}
	return true
}
