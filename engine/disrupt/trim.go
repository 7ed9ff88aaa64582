package disrupt

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// spotChoice is how many cheaper types a lone spot node must leave to choose from when another spot node replaces it, and
// how many it then may choose from: with fewer, the cheapest would be taken again and again until it is interrupted.
const spotChoice = 15

// judge narrows the replacements of p to what is cheaper than the set however they are launched, and sets p.verdict to a
// no if nothing is left, or if what is left does not pay.
func (d *decider) judge(p *proposal) {
	if p.verdict = p.placed(); !p.verdict.OK() {
		return
	}
	planned := p.plan.Price
	if planned > p.price-tiny {
		p.verdict = d.dear(p, planned)
		return
	}
	for i := range p.plan.Nodes {
		n := &p.plan.Nodes[i]
		if p.verdict = d.trim(n, p, n.Price()*p.price/planned); !p.verdict.OK() {
			return
		}
	}
	if overdrawn(p.plan.Nodes) {
		p.verdict = model.Verdict{Rule: model.RuleNoPlace, Subject: "what is cheaper holds less in reserve than its pods need"}
		return
	}
	cost := sumPrice(p.plan.Nodes)
	p.saves = p.price - cost
	p.pays = d.weigh(p.set, p.saves, cost)
	if p.saves <= tiny {
		p.verdict = d.dear(p, cost)
	} else if p.pays.net() <= 0 {
		p.verdict = model.Verdict{Rule: model.RulePayback, Subject: fmt.Sprintf(
			"would save $%.4f/h, $%.4f in the time that counts, and the move costs $%.4f", p.saves, p.pays.gain, p.pays.price)}
	}
}

func (d *decider) dear(p *proposal, elsewhere float64) model.Verdict {
	return model.Verdict{Rule: model.RulePrice, Subject: fmt.Sprintf(
		"costs $%.4f/h, elsewhere its pods would cost $%.4f/h", p.price, elsewhere)}
}

// trim leaves the options of n that cost less than most whatever offering they are launched as, that are not what they
// replace, and that undo no recent move. Of spot and on-demand it leaves spot.
func (d *decider) trim(n *model.PlannedNode, p *proposal, most float64) model.Verdict {
	allSpot := !slices.ContainsFunc(p.set, func(c *candidate) bool { return !c.spot() })
	spot := slices.ContainsFunc(n.Options, func(t *model.InstanceType) bool {
		_, ok := t.Cheapest(asSpot(n.Requirements))
		return ok
	})
	if spot && allSpot && !d.o.SpotToSpot {
		return model.Verdict{Rule: model.RuleSpot,
			Subject: "spot nodes are not replaced by cheaper ones: the feature gate SpotToSpotConsolidation is off"}
	}
	if spot {
		n.Requirements = asSpot(n.Requirements)
	}
	undone, first := false, n.Options[0]
	n.Options = slices.DeleteFunc(slices.Clone(n.Options), func(t *model.InstanceType) bool {
		worst, capacityType, ok := worstPrice(t, n.Requirements)
		if !ok || worst > most-tiny {
			return true
		}
		if d.undoes(p.set, t, capacityType) {
			undone = true
			return true
		}
		return d.sameAgain(p.set, t, capacityType, worst)
	})
	if len(n.Options) == 0 && undone {
		return model.Verdict{Rule: model.RuleUndo, Subject: "all that is cheaper is what it replaced a short while ago"}
	}
	if len(n.Options) == 0 {
		return d.dear(p, p.plan.Price)
	}
	if spot {
		sortOptions(n.Options, n.Requirements)
	}
	if spot && allSpot && len(p.set) == 1 {
		if len(n.Options) < spotChoice {
			return model.Verdict{Rule: model.RuleSpot, Subject: fmt.Sprintf(
				"%d cheaper spot types to choose from, %d are needed", len(n.Options), spotChoice)}
		}
		n.Options = n.Options[:max(spotChoice, neededFor(n))]
	}
	if key, ok := diverse(n); !ok {
		return model.Verdict{Rule: model.RuleMinValues, Subject: key}
	}
	if spot || n.Options[0] != first {
		n.Offering, _ = n.Options[0].Cheapest(n.Requirements)
	}
	return model.Verdict{}
}

// overdrawn reports whether the nodes draw more from a reservation than it holds.
func overdrawn(nodes []model.PlannedNode) bool {
	drawn := map[string]int{}
	for i := range nodes {
		o := nodes[i].Offering
		if drawn[o.ReservationID]++; o.ReservationID != "" && drawn[o.ReservationID] > o.ReservationCapacity {
			return true
		}
	}
	return false
}

func asSpot(r require.Set) require.Set {
	return r.With(require.New(apiv1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, apiv1.CapacityTypeSpot))
}

// worstPrice returns the most that t may cost if it is launched under reqs, and as what: of reserved, spot and on-demand the
// first that is on offer is launched, in whatever zone.
func worstPrice(t *model.InstanceType, reqs require.Set) (price float64, capacityType string, ok bool) {
	for _, ct := range []string{apiv1.CapacityTypeReserved, apiv1.CapacityTypeSpot, apiv1.CapacityTypeOnDemand} {
		for _, o := range t.Offerings {
			if o.CapacityType != ct || !o.Available {
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

// undoes reports whether a node of the set was launched, not long ago, to replace one of that type.
func (d *decider) undoes(set []*candidate, t *model.InstanceType, capacityType string) bool {
	return slices.ContainsFunc(set, func(c *candidate) bool {
		return c.node.Claim != nil && d.now.Sub(c.node.Claim.CreationTimestamp.Time) < undoWindow &&
			slices.Contains(names(c.node.Claim.Annotations[apiv1.ReplacedTypesAnnotationKey]), t.Name+"/"+capacityType)
	})
}

// sameAgain reports whether t is what is replaced: of a lone node the same type bought in the same way, of several one that
// costs no less than the cheapest of them of that type.
func (d *decider) sameAgain(set []*candidate, t *model.InstanceType, capacityType string, worst float64) bool {
	return slices.ContainsFunc(set, func(c *candidate) bool {
		return typeOf(c) == t.Name && c.node.Labels[apiv1.CapacityTypeLabelKey] == capacityType &&
			(len(set) == 1 || worst > c.price-tiny)
	})
}

func typeOf(c *candidate) string { return c.node.Labels[corev1.LabelInstanceTypeStable] }

// sortOptions orders types by their cheapest available offering under reqs, then by name.
func sortOptions(types []*model.InstanceType, reqs require.Set) {
	prices := make(map[*model.InstanceType]float64, len(types))
	for _, t := range types {
		prices[t] = math.Inf(1)
		if o, ok := t.Cheapest(reqs); ok {
			prices[t] = o.Price
		}
	}
	slices.SortFunc(types, func(a, b *model.InstanceType) int {
		return cmp.Or(cmp.Compare(prices[a], prices[b]), strings.Compare(a.Name, b.Name))
	})
}

// diverse reports whether the options bring as many different values as the pool's minValues want; if not, of which key
// they do not. A plan that was allowed to have fewer may go on having fewer.
func diverse(n *model.PlannedNode) (key string, ok bool) {
	if n.MinValuesRelaxed {
		return "", true
	}
	for r := range n.Requirements.All() {
		if r.MinValues() > 0 && distinct(n, r, len(n.Options)) < r.MinValues() {
			return r.Key(), false
		}
	}
	return "", true
}

// neededFor returns how many of the options, cheapest first, the minValues of the pool need.
func neededFor(n *model.PlannedNode) int {
	most := 0
	for r := range n.Requirements.All() {
		if r.MinValues() == 0 {
			continue
		}
		k := 1
		for k < len(n.Options) && distinct(n, r, k) < r.MinValues() {
			k++
		}
		most = max(most, k)
	}
	return most
}

// distinct counts the values that r allows and the first k options bring.
func distinct(n *model.PlannedNode, r require.Requirement, k int) int {
	values := map[string]bool{}
	for _, t := range n.Options[:k] {
		for _, v := range valuesOf(t, r.Key(), n.Requirements) {
			if r.Has(v) {
				values[v] = true
			}
		}
	}
	return len(values)
}

// valuesOf returns the values of a label that t may bring; of zone and capacity type only those that are on offer.
func valuesOf(t *model.InstanceType, key string, reqs require.Set) []string {
	if key != corev1.LabelTopologyZone && key != apiv1.CapacityTypeLabelKey {
		if r, ok := t.Requirements.Get(key); ok {
			return r.Values()
		}
		return nil
	}
	var out []string
	for _, o := range t.Offerings {
		if _, ok := reqs.Intersects(o.Requirements); !ok || !o.Available {
			continue
		}
		if key == corev1.LabelTopologyZone {
			out = append(out, o.Zone)
		} else {
			out = append(out, o.CapacityType)
		}
	}
	return out
}

// maxTypes is how many types a claim may name.
func (d *decider) maxTypes() int {
	if d.o.Pack.MaxTypes > 0 {
		return d.o.Pack.MaxTypes
	}
	return 600
}
