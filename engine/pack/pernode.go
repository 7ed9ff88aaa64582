package pack

import (
	"math"
	"slices"

	"github.com/karpenter-go/karpenter/engine/pack/assign"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// A perNodeCounts holds, for one planned node, the counts of the topology groups over the hostname.
type perNodeCounts []perNodeCount

// A perNodeCount is the count of one group on a planned node. present is the number of pods that the group counts.
// limit is the most that the required anti-affinity of the node's pods allows.
type perNodeCount struct{ group, present, limit int }

// perNodeCountsOf returns the counts of a planned node. It ignores the spread constraints of the node's pods: as in
// kube-scheduler, a spread constraint matters only when the pod itself is placed.
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

// of returns the count of a group, nil if the group has none.
func (l perNodeCounts) of(group int) *perNodeCount {
	if i := slices.IndexFunc(l, func(x perNodeCount) bool { return x.group == group }); i >= 0 {
		return &l[i]
	}
	return nil
}

// add returns the counts after n more pods of the group.
func (l perNodeCounts) add(group, n int) perNodeCounts {
	if x := l.of(group); x != nil {
		x.present += n
		return l
	}
	return append(l, perNodeCount{group: group, present: n, limit: math.MaxInt32})
}

// present returns the number of pods on the node that the group counts.
func (l perNodeCounts) present(group int) int {
	if x := l.of(group); x != nil {
		return x.present
	}
	return 0
}

// admits reports whether spread and anti-affinity over the hostname allow a pod of the segment on the node.
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

// meetsAffinity reports whether the pods on the node meet the required affinity over the hostname of the segment's
// pods. If no pod meets a rule yet, a pod may meet it by itself (kube-scheduler's first-pod exception).
func (l perNodeCounts) meetsAffinity(s *assign.Segment, a *assign.Assignment) bool {
	for i := range s.Rules {
		r := &s.Rules[i]
		if r.Kind == topology.Near && l.present(r.Group) == 0 && !a.MayBeFirst(r) {
			return false
		}
	}
	return true
}
