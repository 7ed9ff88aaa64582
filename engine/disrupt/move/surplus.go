package move

import (
	"cmp"
	"slices"
	"strings"

	"github.com/karpenter-go/karpenter/engine/disrupt/status"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
)

const (
	// maxSingly bounds how many replacements SurplusReplacements evaluates individually.
	maxSingly = 20
	// epsilon is the price difference below which prices count as equal.
	epsilon = 1e-9
)

// SurplusReplacements divides the replacements of commands that were rolled back into surplus ones, which can be
// deleted, and used ones, which stay as ordinary nodes.
//
// A replacement is used if a pod ever ran on it, or if it has do-not-disrupt. Any other replacement is surplus if it is
// overdue. Otherwise it is used only if pods without a node need it: without it, more nodes would be launched, or fewer
// pods would get a node. It is surplus in spite of that if three conditions hold: it is not registered, it costs more
// than the nodes that would be launched instead, and no further pod would be without a node. Replacements beyond
// maxSingly are in neither list, unless all these are surplus together.
func SurplusReplacements(s *model.Snapshot, replacements []*model.Node, o pack.Options) (surplus, used []*model.Node) {
	var idle []*model.Node
	for _, n := range replacements {
		switch {
		case len(n.Reschedulable()) > 0 || !n.Claim.Status.LastPodEventTime.IsZero() || !status.Unprotected(n, s.Now).OK():
			used = append(used, n)
		case status.Overdue(n, s.Now):
			surplus = append(surplus, n)
		default:
			idle = append(idle, n)
		}
	}
	if len(idle) == 0 {
		return surplus, used
	}
	slices.SortFunc(idle, func(a, b *model.Node) int { return strings.Compare(a.Name, b.Name) })
	s = s.Apply(model.Delta{Claims: append(status.MarkedAsDeleted(s), status.Deleted(s.Now, surplus...)...)})
	have := shortageOf(s, o)
	if w := s.Apply(model.Delta{Claims: status.Deleted(s.Now, idle...)}); !have.less(shortageOf(w, o)) {
		return append(surplus, idle...), used
	}
	for _, n := range idle[:min(len(idle), maxSingly)] {
		w := s.Apply(model.Delta{Claims: status.Deleted(s.Now, n)})
		without := shortageOf(w, o)
		expensive := !n.Registered && without.refused == have.refused && s.PriceOf(n) > without.price-have.price+epsilon
		if have.less(without) && !expensive {
			used = append(used, n)
			continue
		}
		surplus = append(surplus, n)
		s, have = w, without
	}
	return surplus, used
}

// A shortage is the capacity that pods without a node lack: the number and price of the nodes to launch for them.
// refused is how many pods fit on none of these nodes either.
type shortage struct {
	refused, launches int
	price             float64
}

func shortageOf(s *model.Snapshot, o pack.Options) shortage {
	plan, _ := pack.Try(s, o)
	x := shortage{launches: len(plan.Nodes), price: plan.Price}
	for _, r := range plan.Refusals {
		x.refused += len(r.Pods)
	}
	return x
}

func (x shortage) less(than shortage) bool {
	return cmp.Or(cmp.Compare(x.refused, than.refused), cmp.Compare(x.launches, than.launches)) < 0
}
