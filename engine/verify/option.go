package verify

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// An option is an instance type as the node of a shape.
type option struct {
	// broken are the rules that the type breaks in this shape.
	broken []Violation
	// offerings are those that may be bought, in the type's order.
	offerings []model.Offering
	// sold are where those stand in the type.
	sold []int
	// places are all the nodes that may come of it, as selectors see them.
	places []*place
	// daemons are the sums of the daemons' demands, one for each set of daemons
	// that may come with the node.
	daemons []*demand
}

// optionOf returns what becomes of sh when t is launched.
func (c *checker) optionOf(sh *shape, t *model.InstanceType) *option {
	if o, ok := sh.options[t]; ok {
		return o
	}
	o := &option{}
	sh.options[t] = o
	f := sh.factsOf(t)
	unset := sh.prospects(f)
	for i, offering := range t.Offerings {
		if !offering.Available && !sh.launching {
			continue
		}
		fate, bad := sh.fate(f, unset, i)
		if bad != nil {
			bad.Type = t.Name
			o.broken = append(o.broken, *bad)
			continue
		}
		if fate == nil {
			continue
		}
		o.offerings = append(o.offerings, offering)
		o.sold = append(o.sold, i)
		c.addPlaces(o, sh.keys, fate)
	}
	if len(o.offerings) == 0 && len(o.broken) == 0 {
		o.broken = append(o.broken, Violation{Rule: RuleOffering, Type: t.Name,
			Detail: "has no available offering within the node's requirements"})
	}
	for _, p := range o.places {
		if d := c.daemonsAt(p, sh.taints); !slices.Contains(o.daemons, d) {
			o.daemons = append(o.daemons, d)
		}
	}
	return o
}

// addPlaces adds the nodes that may come of a fate: the first candidate of each key,
// and for each other candidate the same with that one in its place.
func (c *checker) addPlaces(o *option, keys []string, fate [][]candidate) {
	add := func(labels []candidate) {
		if p := c.places.at(keys, labels); !slices.Contains(o.places, p) {
			o.places = append(o.places, p)
		}
	}
	labels := make([]candidate, len(keys))
	for i := range fate {
		labels[i] = fate[i][0]
	}
	add(labels)
	for i, key := range keys {
		if !c.places.looked[key] {
			continue
		}
		for _, cand := range fate[i][1:] {
			labels[i] = cand
			add(labels)
		}
		labels[i] = fate[i][0]
	}
}

// union returns all nodes that may come of a shape with any of these types, as selectors
// see them, each once.
func (c *checker) union(sh *shape, types []*model.InstanceType) []*place {
	c.unions++
	var out []*place
	for _, t := range types {
		for _, p := range c.optionOf(sh, t).places {
			if p.union != c.unions {
				p.union = c.unions
				out = append(out, p)
			}
		}
	}
	return out
}

// daemonsAt returns the sum of the daemons that come with a node there.
func (c *checker) daemonsAt(p *place, taints []corev1.Taint) *demand {
	sum := &demand{key: "daemons", requests: amounts{}}
	var names strings.Builder
	for _, d := range c.daemons {
		if _, kept := d.untolerated(taints); kept || !p.takes(d.selector) {
			continue
		}
		names.WriteString(d.key + "\n")
		sum.requests.add(d.requests)
		sum.ports = append(sum.ports, d.ports...)
		sum.volumes = append(sum.volumes, d.volumes...)
	}
	if known, ok := c.together[names.String()]; ok {
		return known
	}
	c.together[names.String()] = sum
	return sum
}
