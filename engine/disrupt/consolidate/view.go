package consolidate

import (
	"slices"

	"github.com/karpenter-go/karpenter/engine/disrupt/problem"
	"github.com/karpenter-go/karpenter/engine/model"
)

// A view is the cluster in which proposals are planned: the State's cluster with further nodes closed (Snapshot.Close).
type view struct {
	cluster *model.Snapshot
	// closed are the candidates that receive no pods, because they are to be removed.
	closed []*problem.Candidate
	// notOffered is the name of an instance type that must not be launched, empty if all may.
	notOffered string
}

// view returns the State's cluster with these nodes closed: the candidates in closed, and nodes that are not initialized or
// whose consolidateAfter has not passed.
func (s *search) view(closed []*problem.Candidate) view {
	if s.last.cluster == nil || !slices.Equal(s.last.closed, closed) {
		s.last = s.newView(closed, "")
	}
	return s.last
}

// newView returns a new view in which no offering of the instance type notOffered is available.
func (s *search) newView(closed []*problem.Candidate, notOffered string) view {
	names := map[string]bool{}
	for _, c := range closed {
		names[c.Node.Name] = true
	}
	cluster := s.st.Cluster.Close(func(n *model.Node) bool {
		return names[n.Name] || !s.st.Problem.Initialized(n) || s.recent(n)
	})
	if notOffered != "" { // the type stays known, because commitments still cover running nodes of it
		cluster = cluster.Apply(model.Delta{Types: model.WithOfferings(cluster, func(t *model.InstanceType, o *model.Offering) bool {
			o.Available = false
			return t.Name == notOffered
		})})
	}
	return view{cluster, closed, notOffered}
}

// reopen returns the view in which the candidates may receive pods again.
func (s *search) reopen(v view, candidates ...*problem.Candidate) view {
	if len(v.closed) == 0 || len(candidates) == 0 {
		return v
	}
	return s.newView(except(v.closed, candidates), v.notOffered)
}

// recent reports whether a pod was bound to the node or left it within consolidateAfter. Consolidation moves no pods to
// such a node. The result is false for nodes of static NodePools.
func (s *search) recent(n *model.Node) bool {
	c := s.st.Problem.Candidate(n)
	if c == nil || c.Pool == nil || c.Pool.Static() {
		return false
	}
	after := c.Pool.Object.Spec.Disruption.ConsolidateAfter.Duration
	return after != nil && *after > 0 && !s.st.Problem.Consolidatable(c)
}

// except returns the candidates of list that are not in some.
func except(list, some []*problem.Candidate) []*problem.Candidate {
	return slices.DeleteFunc(slices.Clone(list), func(c *problem.Candidate) bool { return slices.Contains(some, c) })
}
