package overlay

import (
	"fmt"
	"strconv"
	"strings"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	overlayv1alpha1 "github.com/karpenter-go/karpenter/api/v1alpha1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// A change is a parsed overlay. asks are the requirements of the offerings that it changes. price computes the new price of
// an offering, at least 0. It is nil if the overlay changes no price.
type change struct {
	name     string
	weight   int32
	asks     require.Set
	price    func(old float64) float64
	fixed    bool // price ignores its argument
	capacity model.Resources
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
		name: o.Name, weight: weight(o), asks: require.FromSpec(spec), capacity: model.CapacityOf(o.Spec.Capacity),
	}
	var err error
	switch {
	case o.Spec.Price != nil:
		c.price, err = fixed(*o.Spec.Price)
		c.fixed = true
	case o.Spec.PriceAdjustment != nil:
		c.price, err = adjusted(*o.Spec.PriceAdjustment)
	}
	return c, err
}

// fixed returns a function that replaces every price with the price in text, at least 0.
func fixed(text string) (func(float64) float64, error) {
	price, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, fmt.Errorf("spec.price: %q is no number", text)
	}
	return func(float64) float64 { return max(price, 0) }, nil
}

// adjusted returns a function that applies an adjustment such as +10%, -12.5% or +0.05. Its result is at least 0.
func adjusted(text string) (func(float64) float64, error) {
	number, relative := strings.CutSuffix(text, "%")
	by, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return nil, fmt.Errorf("spec.priceAdjustment: %q is no amount such as +0.05 and no part such as -10%%", text)
	}
	return func(old float64) float64 {
		if relative {
			return max(old*(1+by/100), 0)
		}
		return max(old+by, 0)
	}, nil
}

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
