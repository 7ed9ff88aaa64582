package verify

import (
	"slices"
	"strings"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/verify/nodematch"
)

// A catalog computes and caches the options of each template: for each instance type the offerings, label sets and
// DaemonSets that a node may have.
type catalog struct {
	snapshot *model.Snapshot
	index    *nodematch.Index
	daemons  []*daemon

	templates  map[string]*template                           // by pool and requirements
	typeLabels map[string]map[*model.InstanceType]*typeLabels // by label keys
	types      map[string]map[string]*model.InstanceType      // by pool and name
	sums       map[string]*demand                             // summed demands of DaemonSets, by their keys
	lists      map[optionListKey]*optionList
}

func newCatalog(s *model.Snapshot, index *nodematch.Index) *catalog {
	return &catalog{
		snapshot: s, index: index,
		templates:  make(map[string]*template),
		typeLabels: make(map[string]map[*model.InstanceType]*typeLabels),
		types:      make(map[string]map[string]*model.InstanceType),
		sums:       make(map[string]*demand),
		lists:      make(map[optionListKey]*optionList),
	}
}

// typesOf returns the instance types of a pool by name.
func (c *catalog) typesOf(pool string) map[string]*model.InstanceType {
	types, ok := c.types[pool]
	if !ok {
		types = make(map[string]*model.InstanceType)
		for _, t := range c.snapshot.Types(pool) {
			types[t.Name] = t
		}
		c.types[pool] = types
	}
	return types
}

// claimTypes returns the types that may be launched for a claim without an instance.
func (c *catalog) claimTypes(n *model.Node) []*model.InstanceType {
	t := c.templateOfClaim(n.Claim)
	var types []*model.InstanceType
	for _, it := range c.snapshot.Types(poolOf(n)) {
		if len(c.optionOf(t, it).broken) == 0 {
			types = append(types, it)
		}
	}
	return types
}

// An option is an instance type for a node of a template.
type option struct {
	// broken are the violations of the instance type for this template.
	broken []Violation
	// offerings are the offerings that may be launched, in the type's order. positions are their indexes in the type.
	offerings []model.Offering
	positions []int
	// labels are all label sets that the node may have.
	labels []*nodematch.LabelSet
	// daemons are sums of the demands of DaemonSets: one for each different set of DaemonSets that run on a node with
	// one of the label sets.
	daemons []*demand
}

// optionOf returns the option of instance type it for the template.
func (c *catalog) optionOf(t *template, it *model.InstanceType) *option {
	if o, ok := t.options[it]; ok {
		return o
	}
	o := &option{}
	t.options[it] = o
	f := t.labelsOfType(it)
	byType := t.outcomesByType(f)
	for i, offering := range it.Offerings {
		if !offering.Available && !t.launching { // full reservations are reported by the rule RuleReservation
			continue
		}
		values, broken := t.outcomes(f, byType, i)
		if broken != nil {
			broken.Type = it.Name
			o.broken = append(o.broken, *broken)
			continue
		}
		if values == nil {
			continue
		}
		o.offerings = append(o.offerings, offering)
		o.positions = append(o.positions, i)
		c.addLabelSets(o, t.keys, values)
	}
	if len(o.offerings) == 0 && len(o.broken) == 0 {
		o.broken = append(o.broken, Violation{Rule: RuleOffering, Type: it.Name,
			Detail: "has no available offering within the node's requirements"})
	}
	for _, l := range o.labels {
		if d := c.daemonsAt(l, t); !slices.Contains(o.daemons, d) {
			o.daemons = append(o.daemons, d)
		}
	}
	return o
}

// addLabelSets adds label sets that together contain each value of each relevant key, not all combinations. One set has
// the first value of each key. For each further value of a key, a copy of that set has this value.
func (c *catalog) addLabelSets(o *option, keys []string, values [][]nodematch.Value) {
	add := func(labels []nodematch.Value) {
		if l := c.index.At(keys, labels); !slices.Contains(o.labels, l) {
			o.labels = append(o.labels, l)
		}
	}
	labels := make([]nodematch.Value, len(keys))
	for i := range values {
		labels[i] = values[i][0]
	}
	add(labels)
	for i, key := range keys {
		if !c.index.Relevant(key) {
			continue
		}
		for _, v := range values[i][1:] {
			labels[i] = v
			add(labels)
		}
		labels[i] = values[i][0]
	}
}

// labelSets returns all label sets of nodes of the template with one of the types.
func (c *catalog) labelSets(t *template, types []*model.InstanceType) []*nodematch.LabelSet {
	return c.index.Union(func(yield func([]*nodematch.LabelSet) bool) {
		for _, it := range types {
			if !yield(c.optionOf(t, it).labels) {
				return
			}
		}
	})
}

// daemonsAt returns the summed demand of the DaemonSets that run on a node with these labels.
func (c *catalog) daemonsAt(l *nodematch.LabelSet, t *template) *demand {
	sum := &demand{key: "daemons", requests: amounts{}}
	var names strings.Builder
	for _, d := range c.daemons {
		if _, kept := d.untolerated(t.taints); kept || !l.MatchedBy(d.selector) {
			continue
		}
		names.WriteString(d.key + "\n")
		sum.requests.add(d.requests)
		sum.ports = append(sum.ports, d.ports...)
		sum.volumes = append(sum.volumes, d.volumes...)
	}
	if known, ok := c.sums[names.String()]; ok {
		return known
	}
	c.sums[names.String()] = sum
	return sum
}
