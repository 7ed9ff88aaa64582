package view

import (
	"cmp"
	"slices"

	"github.com/karpenter-go/karpenter/engine/model"
)

// BlockedOf returns the nodes that are kept, by rule, the most waste first.
func BlockedOf(blocked []model.Blocked) []Blocked {
	byRule := map[string]*Blocked{}
	largest := map[string]float64{}
	for i := range blocked {
		b := &blocked[i]
		rule := b.Verdict.Rule.Word()
		x := byRule[rule]
		if x == nil {
			x = &Blocked{Rule: rule}
			byRule[rule] = x
		}
		x.Nodes++
		x.DollarsPerHour += b.Worth
		if x.Nodes == 1 || b.Worth > largest[rule] {
			largest[rule] = b.Worth
			x.Reason, x.Fix = b.Verdict.String(), fixOf(b.Verdict)
		}
	}
	out := make([]Blocked, 0, len(byRule))
	for _, x := range byRule {
		x.DollarsPerHour = round(x.DollarsPerHour)
		out = append(out, *x)
	}
	slices.SortFunc(out, func(a, b Blocked) int {
		return cmp.Or(cmp.Compare(b.DollarsPerHour, a.DollarsPerHour), cmp.Compare(b.Nodes, a.Nodes), cmp.Compare(a.Rule, b.Rule))
	})
	return out
}
