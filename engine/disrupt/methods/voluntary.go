package methods

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/problem"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Empty removes empty nodes: no pod of them needs another place. It begins with the most expensive.
func Empty(from *problem.State, candidates []*problem.Candidate) *problem.State {
	st := from.Clone()
	var found []*problem.Candidate
	for _, c := range candidates {
		if len(c.Pods) > 0 {
			continue
		}
		if v := st.MayRemoveEmpty(c); !v.OK() {
			st.Block(c, v)
			continue
		}
		found = append(found, c)
	}
	slices.SortFunc(found, func(a, b *problem.Candidate) int {
		return cmp.Or(cmp.Compare(b.Price, a.Price), strings.Compare(a.Node.Name, b.Node.Name))
	})
	st.Stats.Eligible[apiv1.DisruptionReasonEmpty] += len(found)
	for _, c := range found {
		cmd := model.Command{Reason: apiv1.DisruptionReasonEmpty, Method: "empty", Saves: c.Price}
		if v := st.Accept(cmd, c); !v.OK() {
			st.Block(c, v)
		}
	}
	return st
}

// Drift replaces drifted nodes: first those without pods, then in the order in which they drifted. Replacements may
// cost more, and consolidateAfter need not have passed.
func Drift(from *problem.State, candidates []*problem.Candidate) *problem.State {
	st := from.Clone()
	var found []*problem.Candidate
	for _, c := range candidates {
		if c.Node.Claim == nil || !condition.IsTrue(c.Node.Claim, apiv1.ConditionTypeDrifted) {
			continue
		}
		if v := cmp.Or(st.Problem.MayDisrupt(c), st.Problem.MayDrain(c), st.Incoming(c)); !v.OK() {
			st.BlockFinally(c, v)
			continue
		}
		found = append(found, c)
	}
	slices.SortFunc(found, func(a, b *problem.Candidate) int {
		return cmp.Or(
			cmp.Compare(min(len(a.Pods), 1), min(len(b.Pods), 1)),
			driftedAt(a).Compare(driftedAt(b).Time),
			strings.Compare(a.Node.Name, b.Node.Name),
		)
	})
	st.Stats.Eligible[apiv1.DisruptionReasonDrifted] += len(found)
	for _, c := range found {
		if v := replace(st, c, model.Command{Reason: apiv1.DisruptionReasonDrifted, Method: "drift"}); !v.OK() {
			st.BlockFinally(c, v)
		}
	}
	return st
}

func driftedAt(c *problem.Candidate) (at metav1.Time) {
	if x := condition.Get(c.Node.Claim, apiv1.ConditionTypeDrifted); x != nil {
		return x.LastTransitionTime
	}
	return at
}
