package consolidate

import (
	"maps"
	"time"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/problem"
	"github.com/karpenter-go/karpenter/engine/model"
)

// repeatAfter is how long the verdicts of a search count in a cluster that does not change, not even in a price. What a search finds
// then depends on the time only by how long nodes have until they expire, and by undoWindow.
const repeatAfter = 15 * time.Minute

// Verdicts are the verdicts of searches that found nothing to do. They count only while the cluster does not change. They are
// immutable. Nil is empty.
type Verdicts struct {
	began    time.Time
	verdicts map[string]model.Verdict // by node name
	// budgets is the number of nodes that each NodePool of the candidates allowed to disrupt, and most is Options.MaxNodes.
	budgets map[string]int
	most    int
}

// of returns the verdicts for a search in st, or nil if they no longer count.
func (vs *Verdicts) of(st *problem.State, candidates []*problem.Candidate) *Verdicts {
	p := st.Problem
	if vs == nil || p.Snapshot.Now.Sub(vs.began) >= repeatAfter || vs.most != p.Options.MaxNodes {
		return nil
	}
	for pool, n := range budgetsOf(st, candidates) {
		if known, ok := vs.budgets[pool]; ok && known != n {
			return nil
		}
	}
	return vs
}

// with returns the verdicts with further verdicts, by node name, for candidates of st.
func (vs *Verdicts) with(st *problem.State, candidates []*problem.Candidate, verdicts map[string]model.Verdict) *Verdicts {
	now := st.Problem.Snapshot.Now
	next := &Verdicts{began: now, most: st.Problem.Options.MaxNodes, verdicts: verdicts, budgets: budgetsOf(st, candidates)}
	if vs != nil {
		next.began = vs.began
		next.verdicts, next.budgets = maps.Clone(vs.verdicts), maps.Clone(vs.budgets)
		maps.Copy(next.verdicts, verdicts)
		maps.Copy(next.budgets, budgetsOf(st, candidates))
	}
	return next
}

// budgetsOf returns how many nodes each NodePool of the candidates still allows to consolidate.
func budgetsOf(st *problem.State, candidates []*problem.Candidate) map[string]int {
	left := map[string]int{}
	for _, c := range candidates {
		if _, ok := left[c.Node.Pool]; ok {
			continue
		}
		if a := st.Budgets.Of(c.Node.Pool); a != nil {
			left[c.Node.Pool] = a.Left(apiv1.DisruptionReasonUnderutilized)
		}
	}
	return left
}
