package overlay

import (
	"strconv"
	"strings"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	overlayv1alpha1 "github.com/karpenter-go/karpenter/api/v1alpha1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// A change is a parsed overlay.
type change struct {
	name     string
	weight   int32
	asks     require.Set // the requirements of the offerings that it changes
	capacity model.Resources
	// priced is true if it changes prices, and fixed if the new price does not depend on the old one. See price.
	priced, fixed bool
	factor, plus  float64
}

// changeOf checks and parses an overlay.
func changeOf(o *overlayv1alpha1.NodeOverlay, rules apiv1.LabelRules) (*change, error) {
	if err := o.Validate(rules); err != nil {
		return nil, err
	}
	spec := make([]apiv1.NodeSelectorRequirementWithMinValues, len(o.Spec.Requirements))
	for i, r := range o.Spec.Requirements {
		spec[i] = r.WithMinValues()
	}
	c := &change{
		name: o.Name, weight: weight(o), asks: require.FromSpec(spec).Normalize(rules.Aliases), capacity: model.CapacityOf(o.Spec.Capacity),
		priced: o.Spec.Price != nil || o.Spec.PriceAdjustment != nil, fixed: o.Spec.Price != nil, factor: 1,
	}
	switch {
	case c.fixed:
		c.factor = 0
		c.plus, _ = strconv.ParseFloat(*o.Spec.Price, 64) // Validate has checked it
	case c.priced: // such as +10%, -12.5% or +0.05
		number, relative := strings.CutSuffix(*o.Spec.PriceAdjustment, "%")
		by, _ := strconv.ParseFloat(number, 64) // Validate has checked it
		if relative {
			c.factor += by / 100
		} else {
			c.plus = by
		}
	}
	return c, nil
}

// price returns the new price of an offering with the price old.
func (c *change) price(old float64) float64 { return max(old*c.factor+c.plus, 0) }

// matched returns the indexes of the offerings of t that c selects, in a pool whose nodes have these labels. A label
// that neither pool, type nor offering defines counts as missing.
func (c *change) matched(labels require.Set, t *model.InstanceType) []int {
	node := labels.And(t.Requirements)
	if _, ok := node.Compatible(c.asks, nil); !ok {
		return nil
	}
	var out []int
	for i, o := range t.Offerings {
		if _, ok := node.And(o.Requirements).Compatible(c.asks, nil); ok {
			out = append(out, i)
		}
	}
	return out
}

// Applied reports whether overlays have changed the price or the capacity of an option of the node.
func Applied(n *model.PlannedNode) (price, capacity bool) {
	for _, t := range n.Options {
		price, capacity = price || t.PriceOverlaid, capacity || t.CapacityOverlaid
	}
	return price, capacity
}
