package methods

import (
	"cmp"
	"slices"
	"strings"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/problem"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Empty removes empty nodes: no pod of them needs another place. It begins with the most expensive.
func Empty(from *problem.State, due []*problem.Candidate) *problem.State {
	st := from.Clone()
	var found []*problem.Candidate
	for _, c := range due {
		if len(c.Pods) > 0 {
			continue
		}
		if v := st.EmptyMayGo(c); !v.OK() {
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
