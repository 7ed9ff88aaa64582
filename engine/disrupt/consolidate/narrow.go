package consolidate

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/problem"
	"github.com/karpenter-go/karpenter/engine/disrupt/status"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/units"
)

const (
	// minSpotTypes is how many cheaper types must remain if spot nodes are replaced by at least as many spot nodes. The
	// options are cut to this number, or to more if minValues require more. With fewer, the cheapest type would be launched
	// again and again, and be interrupted each time.
	minSpotTypes = 15
	// undoWindow is the age up to which a node must not be replaced by a type that it was launched to replace, unless its pods
	// request less than undoShare of what it was launched for.
	undoWindow = 24 * time.Hour
	undoShare  = 0.75
)

// price sets the saving and the payback of a proposal. It first narrows the options of the replacements, so that all
// replacements together cost less than the set whichever offerings are launched. The verdict is a refusal if a
// replacement has no option left, or if the proposal does not pay. A proposal that is refused already is returned unchanged.
func (s *search) price(p problem.Proposal) problem.Proposal {
	if !p.Verdict.OK() {
		return p
	}
	planned := p.Plan.Price
	if planned > p.Price-problem.Epsilon {
		p.Verdict = costsMore(p, planned)
		return p
	}
	plan := *p.Plan
	plan.Nodes = slices.Clone(plan.Nodes)
	p.Plan = &plan
	for i := range plan.Nodes {
		n := &plan.Nodes[i]
		if p.Verdict = s.narrow(n, p, n.Price()*p.Price/planned); !p.Verdict.OK() {
			return p
		}
	}
	cost := problem.PriceOf(p.Plan.Nodes)
	p.Saves = p.Price - cost
	p.Payback = s.st.Problem.PaybackOf(p.Set, p.Saves, cost)
	if p.Saves <= problem.Epsilon {
		p.Verdict = costsMore(p, cost)
	} else if p.Payback.Net() <= 0 {
		p.Verdict = model.Verdict{Rule: model.RulePayback, Key: p.Set[0].Node.Pool, Subject: fmt.Sprintf(
			"would save $%.4f within the payback period (%s), less than the $%.4f that moving %s is taken to cost",
			p.Payback.Gain, units.Period(p.Payback.Period), p.Payback.Cost, pods(p))}
	}
	return p
}

func costsMore(p problem.Proposal, elsewhere float64) model.Verdict {
	nodes, s, own := "this node", "s", "its"
	if len(p.Set) > 1 {
		nodes, s, own = "these "+units.Counted(len(p.Set), "node"), "", "their"
	}
	return model.Verdict{Rule: model.RulePrice, Subject: fmt.Sprintf(
		"can't replace with a cheaper node: %s cost%s $%.4f/h, capacity for %s %s costs $%.4f/h at best elsewhere",
		nodes, s, p.Price, own, pods(p), elsewhere)}
}

// pods returns the number of pods that the proposal moves, as text.
func pods(p problem.Proposal) string {
	n := 0
	for _, c := range p.Set {
		n += len(c.Pods)
	}
	return units.Counted(n, "pod")
}

// noCheaperType returns the refusal of a planned node each of whose types may launch in an offering that costs limit or more.
func noCheaperType(limit float64) model.Verdict {
	return model.Verdict{Rule: model.RulePrice, Cause: model.CauseMayCostMore, Subject: fmt.Sprintf(
		"can't replace with a cheaper node: every other instance type may launch in an offering that costs $%.4f/h or more", limit)}
}

// narrow keeps the options of n that cost less than limit (see cheaperOptions). It returns a refusal if too few remain. If any
// option has a spot offering, only spot is kept. Spot nodes are replaced by spot nodes only if Options.SpotToSpot is set. For a
// node that a commitment covers, see narrowCovered.
//
// If spot nodes are replaced by at least as many spot nodes, minSpotTypes types must remain. Otherwise repeated
// consolidation would end at the cheapest type, which is the most likely to be interrupted. If the number of nodes
// decreases, consolidation cannot repeat forever, so fewer types suffice.
func (s *search) narrow(n *model.PlannedNode, p problem.Proposal, limit float64) model.Verdict {
	if n.Offering.Commitment != "" {
		return s.narrowCovered(n, p)
	}
	allSpot := !slices.ContainsFunc(p.Set, func(c *problem.Candidate) bool { return c.CapacityType() != apiv1.CapacityTypeSpot })
	spot := slices.ContainsFunc(n.Options, func(t *model.InstanceType) bool {
		_, ok := t.Cheapest(asSpot(n.Requirements))
		return ok
	})
	if spot && allSpot && !s.st.Problem.Options.SpotToSpot {
		return model.Verdict{Rule: model.RuleSpot, Cause: model.CauseFeatureGate,
			Subject: "SpotToSpotConsolidation is disabled: a spot node is not replaced with a cheaper spot node"}
	}
	if spot {
		n.Requirements = asSpot(n.Requirements)
	}
	first := n.Options[0]
	var v model.Verdict
	if n.Options, v = s.cheaperOptions(n, p, limit); !v.OK() {
		return v
	}
	if spot {
		problem.SortByPrice(n.Options, n.Requirements)
	}
	if spot && allSpot && len(p.Plan.Nodes) >= len(p.Set) {
		if len(n.Options) < minSpotTypes {
			return model.Verdict{Rule: model.RuleSpot, Key: n.Pool.Name, Subject: fmt.Sprintf(
				"spot-to-spot consolidation needs %d cheaper instance types, found %d", minSpotTypes, len(n.Options))}
		}
		needed, _ := neededForMinValues(n)
		n.Options = n.Options[:max(minSpotTypes, needed)]
	}
	if v = lackingMinValues(n); !v.OK() {
		return v
	}
	if spot || n.Options[0] != first {
		n.Offering, _ = n.Options[0].Cheapest(n.Requirements)
		if n.Offering.ReservationID != "" {
			return noCheaperType(limit) // the plan has not used the reservation, so it may have no instance left
		}
	}
	return model.Verdict{}
}

// cheaperOptions returns the options of n that cost less than limit, whichever of their offerings is launched. It omits options
// that would undo a recent move. If the number of nodes does not decrease, it omits options that equal a node that they
// replace. It returns a refusal if no option is left.
func (s *search) cheaperOptions(n *model.PlannedNode, p problem.Proposal, limit float64) ([]*model.InstanceType, model.Verdict) {
	undone := false
	options := slices.DeleteFunc(slices.Clone(n.Options), func(t *model.InstanceType) bool {
		highest, capacityType, ok := highestPrice(t, n.Requirements)
		if !ok || highest > limit-problem.Epsilon {
			return true
		}
		if s.undoes(p.Set, t.Name+"/"+capacityType) {
			undone = true
			return true
		}
		return len(p.Plan.Nodes) >= len(p.Set) && replacesEqual(p.Set, t, capacityType, highest)
	})
	switch {
	case len(options) > 0:
		return options, model.Verdict{}
	case undone:
		return nil, model.Verdict{Rule: model.RuleUndo}
	}
	return nil, noCheaperType(limit)
}

// lackingMinValues returns a refusal if the options of n have too few values for minValues and these are not relaxed.
func lackingMinValues(n *model.PlannedNode) model.Verdict {
	if _, lacking := neededForMinValues(n); lacking != "" && !n.MinValuesRelaxed {
		return model.Verdict{Rule: model.RuleMinValues, Key: lacking}
	}
	return model.Verdict{}
}

// narrowCovered removes options of a node that a commitment covers if they would undo a recent move. It returns a refusal if
// the first option is one of them, or if too few options remain for minValues. The commitment covers all options, so their
// prices do not matter.
func (s *search) narrowCovered(n *model.PlannedNode, p problem.Proposal) model.Verdict {
	first := n.Options[0]
	n.Options = slices.DeleteFunc(slices.Clone(n.Options), func(t *model.InstanceType) bool {
		return s.undoes(p.Set, t.Name+"/"+n.Offering.CapacityType)
	})
	if len(n.Options) == 0 || n.Options[0] != first {
		return model.Verdict{Rule: model.RuleUndo}
	}
	return lackingMinValues(n)
}

func asSpot(r require.Set) require.Set {
	return r.With(require.New(apiv1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, apiv1.CapacityTypeSpot))
}

// highestPrice returns the highest price at which t may be launched under reqs. The capacity type is the first of
// reserved, spot and on-demand that is launchable, and the price is the highest over its zones.
func highestPrice(t *model.InstanceType, reqs require.Set) (price float64, capacityType string, ok bool) {
	for _, ct := range []string{apiv1.CapacityTypeReserved, apiv1.CapacityTypeSpot, apiv1.CapacityTypeOnDemand} {
		for _, o := range t.Offerings {
			if o.CapacityType != ct || !o.Launchable() {
				continue
			}
			if _, fits := reqs.Intersects(o.Requirements); fits {
				price, ok = max(price, o.Price), true
			}
		}
		if ok {
			return price, ct, true
		}
	}
	return 0, "", false
}

// undoes reports whether a node of the set was launched within undoWindow to replace a node of that type and capacity
// type, and still has the load that it was launched for.
func (s *search) undoes(set []*problem.Candidate, replaced string) bool {
	return slices.ContainsFunc(set, func(c *problem.Candidate) bool {
		return c.Node.Claim != nil && s.st.Problem.Snapshot.Now.Sub(c.Node.Claim.CreationTimestamp.Time) < undoWindow &&
			slices.Contains(status.ReplacedTypes(c.Node), replaced) && !unloaded(c.Node)
	})
}

// unloaded reports whether the pods of a node request less than undoShare of an amount that its claim was launched for. Then the
// fleet has changed, and going back to an earlier type is no oscillation.
func unloaded(n *model.Node) bool {
	for name, planned := range model.RequestsOf(n.Claim.Spec.Resources.Requests) {
		if float64(n.Used[name]) < undoShare*float64(planned) {
			return true
		}
	}
	return false
}

// replacesEqual reports whether t, at a price of at most price, would replace a node of its own type and capacity type. If
// the set has several nodes, only those that cost no more than price count.
func replacesEqual(set []*problem.Candidate, t *model.InstanceType, capacityType string, price float64) bool {
	return slices.ContainsFunc(set, func(c *problem.Candidate) bool {
		return c.Type() == t.Name && c.CapacityType() == capacityType && (len(set) == 1 || price > c.Price-problem.Epsilon)
	})
}

// neededForMinValues returns how many of the options, cheapest first, have as many distinct values as the pool's
// minValues require. If all options together have too few, it returns their number and the label.
func neededForMinValues(n *model.PlannedNode) (needed int, lacking string) {
	for r := range n.Requirements.All() {
		k := 0
		for r.MinValues() > 0 && model.Distinct(n.Options[:k], r, n.Requirements) < r.MinValues() {
			if k == len(n.Options) {
				return k, r.Key()
			}
			k++
		}
		needed = max(needed, k)
	}
	return needed, ""
}
