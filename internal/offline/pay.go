package offline

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/provider/aws/prices"
)

// paid has the rules of the price book, and the numbers of nodes and vCPUs that count toward volume discounts.
type paid struct {
	rules prices.Rules
	usage prices.Usage
}

// ReadPriceBook parses a price book: the rules, or a ConfigMap with the rules. The error names the file and every
// invalid field.
func ReadPriceBook(name string, data []byte) (prices.Rules, error) {
	var m struct {
		Kind string            `json:"kind"`
		Data map[string]string `json:"data"`
	}
	if err := yaml.Unmarshal(data, &m); err != nil {
		return prices.Rules{}, fmt.Errorf("%s: %w", name, err)
	}
	text := string(data)
	if m.Kind == "ConfigMap" {
		inside, ok := m.Data[prices.BookKey]
		if !ok {
			return prices.Rules{}, fmt.Errorf("%s: the ConfigMap has no key %s", name, prices.BookKey)
		}
		text = inside
	}
	rules, err := prices.ParseRules(text)
	if err != nil {
		return prices.Rules{}, fmt.Errorf("%s: %w", name, err)
	}
	return rules, nil
}

// Pay applies the rules of a price book to the prices of types that are read later, except types of KWOK. The given
// nodes count toward discounts for a number of instances or vCPUs. As in the controller, nodes of a plan do not
// count.
func (c *Catalogue) Pay(r prices.Rules, nodes []*corev1.Node) {
	u := prices.Usage{Nodes: map[prices.Sold]int{}, VCPUs: map[prices.Sold]int64{}}
	for _, n := range nodes {
		sold := prices.Sold{
			Type: n.Labels[corev1.LabelInstanceTypeStable], CapacityType: n.Labels[apiv1.CapacityTypeLabelKey],
		}
		u.Nodes[sold]++
		u.VCPUs[sold] += n.Status.Capacity.Cpu().Value()
	}
	c.paid = &paid{r, u}
}

// priced returns copies of types with the prices of the price book, or types itself without a price book. The given
// types are shared and are not changed.
func (c *Catalogue) priced(types []*model.InstanceType) []*model.InstanceType {
	if c.paid == nil {
		return types
	}
	out := make([]*model.InstanceType, len(types))
	for i, t := range types {
		with := *t
		with.Offerings = slices.Clone(t.Offerings)
		for n := range with.Offerings {
			o := &with.Offerings[n]
			if o.CapacityType == apiv1.CapacityTypeOnDemand {
				if list, ok := c.paid.rules.ListPrices[t.Name]; ok {
					o.Price, o.Available, o.Unpriced = list, o.Available || o.Unpriced, false
				}
				o.Covers, o.CoveredPrice = c.paid.rules.Covers(t.Name, o.Zone, o.Price)
			}
			if o.ReservationID == "" {
				o.Price = c.paid.rules.Price(t.Name, o.CapacityType, o.Price, c.paid.usage)
			}
		}
		out[i] = &with
	}
	return out
}
