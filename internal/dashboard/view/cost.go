package view

import (
	"cmp"
	"slices"
	"strings"

	"github.com/karpenter-go/karpenter/engine/model"
)

// A cause is one change that lets nodes go: the rule, its fix, and the object to which the fix applies.
type cause struct{ rule, fix, object string }

func causeOf(v model.Verdict) cause {
	subject, _, _ := strings.Cut(v.Subject, " (pod ") // a PodDisruptionBudget is the object, whichever of its pods is named
	return cause{v.Rule.Word(), fixOf(v), cmp.Or(v.Key, subject)}
}

// BlockedOf returns the nodes that are kept, by rule, the most waste first.
// It also returns those of the cause that has a fix and the most waste, nil if no cause with waste has a fix.
func BlockedOf(blocked []model.Blocked) (rules []Blocked, best *Blocked) {
	byRule, byCause := sumBy(blocked, func(c cause) string { return c.rule }), sumBy(blocked, func(c cause) cause { return c })
	for i := range byCause {
		if x := &byCause[i]; x.Fix != "" && x.DollarsPerHour > 0 {
			return byRule, x
		}
	}
	return byRule, nil
}

// sumBy adds up the nodes with the same key. The largest sum is first.
func sumBy[K comparable](blocked []model.Blocked, key func(cause) K) []Blocked {
	sums := map[K]*Blocked{}
	largest := map[K]float64{}
	causes := map[K]map[cause]bool{}
	for i := range blocked {
		b := &blocked[i]
		c := causeOf(b.Verdict)
		k := key(c)
		if sums[k] == nil {
			sums[k], causes[k] = &Blocked{Rule: c.rule}, map[cause]bool{}
		}
		x := sums[k]
		x.Nodes++
		x.DollarsPerHour += b.Waste
		causes[k][c] = true
		x.Causes = len(causes[k])
		if x.Nodes == 1 || b.Waste > largest[k] {
			largest[k] = b.Waste
			x.Reason, x.Fix = b.Verdict.String(), c.fix
		}
	}
	out := make([]Blocked, 0, len(sums))
	for _, x := range sums {
		x.DollarsPerHour = round(x.DollarsPerHour)
		out = append(out, *x)
	}
	slices.SortFunc(out, func(a, b Blocked) int {
		return cmp.Or(cmp.Compare(b.DollarsPerHour, a.DollarsPerHour), cmp.Compare(b.Nodes, a.Nodes), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Reason, b.Reason))
	})
	return out
}
