package consolidate

import (
	"slices"

	"github.com/karpenter-go/karpenter/engine/disrupt/problem"
	"github.com/karpenter-go/karpenter/engine/model"
)

// A view is the cluster in which proposals are planned: the State's cluster with further nodes cordoned.
type view struct {
	cluster *model.Snapshot
	// source is the State's cluster from which the view was made.
	source *model.Snapshot
	// closed are the candidates that receive no pods, because they are to be removed.
	closed []*problem.Candidate
}

// view returns the State's cluster with these nodes cordoned: nodes that are not initialized, whose consolidateAfter
// has not passed, or that are closed.
func (s *search) view(closed []*problem.Candidate) view {
	if v := s.last; v.source != s.st.Cluster || !slices.Equal(v.closed, closed) {
		s.last = s.newView(closed)
	}
	return s.last
}

func (s *search) newView(closed []*problem.Candidate) view {
	isClosed := map[string]bool{}
	for _, c := range closed {
		isClosed[c.Node.Name] = true
	}
	cordoned := s.st.Problem.Cordon(s.st.Cluster, func(n *model.Node) bool {
		return isClosed[n.Name] || !s.st.Problem.Initialized(n) || s.recent(n)
	})
	return view{s.st.Cluster.Apply(cordoned), s.st.Cluster, closed}
}

// open returns the view in which the candidates may receive pods again.
func (s *search) open(v view, candidates ...*problem.Candidate) view {
	if len(v.closed) == 0 || len(candidates) == 0 {
		return v
	}
	return s.newView(except(v.closed, candidates))
}

// recent reports whether a pod was bound to the node or left it within consolidateAfter. Consolidation moves no pods to
// such a node.
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
