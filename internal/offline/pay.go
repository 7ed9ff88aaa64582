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

// paid is what is paid in place of the catalogue's prices.
type paid struct {
	rules prices.Rules
	usage prices.Usage
}

// ReadPriceBook reads the rules of a price book: the rules themselves, or the ConfigMap that holds them. The error names the
// file, and every field that is wrong.
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

// Pay makes all prices from now on those that the rules of a price book leave. Discounts that hold for so many instances or
// vCPUs count the nodes given, and not those that a plan adds: so does the controller, between two looks at its nodes.
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

// priced returns types with what is paid for them. The given ones, which others share, stay as they are.
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
			if o.ReservationID == "" {
				o.Price = c.paid.rules.Price(t.Name, o.CapacityType, o.Price, c.paid.usage)
			}
		}
		out[i] = &with
	}
	return out
}
