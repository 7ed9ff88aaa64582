package verify

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/verify/nodematch"
)

// A catalog computes and caches the options of each template: for each instance type the offerings, label sets and
// DaemonSets that a node may have.
type catalog struct {
	snapshot *model.Snapshot
	index    *nodematch.Index
	daemons  []*daemon

	templates  map[string]*template // by pool and requirements
	typeLabels map[*model.InstanceType]*typeLabels
	// reported are the lowest attach limits that existing nodes report, by type and driver. It is nil until computed.
	reported map[[2]string]int
}

func newCatalog(s *model.Snapshot, r Rules) *catalog {
	return &catalog{
		snapshot: s, index: nodematch.NewIndex(apiv1.CoreLabels().With(r.Labels).Aliases),
		templates:  make(map[string]*template),
		typeLabels: make(map[*model.InstanceType]*typeLabels),
	}
}

// claimTypes returns the types that may be launched for a claim without an instance.
func (c *catalog) claimTypes(n *model.Node) []*model.InstanceType {
	t := c.templateOfClaim(n.Claim)
	return slices.DeleteFunc(slices.Clone(c.snapshot.Types(n.Pool)), func(it *model.InstanceType) bool {
		return len(c.optionOf(t, it).broken) > 0
	})
}

// An option is what a node may become: an instance type for a node of a template, or an existing node as it is.
type option struct {
	// instanceType is nil for an existing node of which it is not known. name is empty for every existing node.
	instanceType *model.InstanceType
	name         string
	allocatable  model.Resources
	attachLimits map[string]int // those that an existing node reports, by CSI driver
	// broken are the violations of the instance type for this template.
	broken []Violation
	// launchable are the indexes of the type's offerings that may be launched, in order.
	launchable []int
	// cheapest is the lowest price of the offerings, unreserved that of the offerings that are not from reservations. They are
	// infinity if there is none.
	cheapest, unreserved float64
	// labels are all label sets that the node may have.
	labels []*nodematch.LabelSet
	// present are sums of the demands of pods that are on the node before any planned pod: one for each different set of
	// DaemonSets that run on a node with one of the label sets. An existing node has one sum, without ports.
	present []*demand
}

// optionOf returns the option of instance type it for the template.
func (c *catalog) optionOf(t *template, it *model.InstanceType) *option {
	if o, ok := t.options[it]; ok {
		return o
	}
	o := &option{
		instanceType: it, name: it.Name, allocatable: it.Allocatable, cheapest: math.Inf(1), unreserved: math.Inf(1),
	}
	t.options[it] = o
	f := c.labelsOfType(it)
	columns, values := make([]column, len(t.labels)), make([][]nodematch.Value, len(t.labels))
	for at := range t.labels {
		l := &t.labels[at]
		columns[at] = column{label: l, byType: t.outcomeOf(l, f.byType[l.key], false), byOffering: f.byOffering[l.key]}
	}
	for i := range it.Offerings {
		offering := &it.Offerings[i]
		if !offering.Available && !t.launching { // full reservations are reported by the rule RuleReservation
			continue
		}
		launchable, broken := t.valuesOf(columns, i, values)
		switch {
		case broken != nil:
			broken.Type = it.Name
			o.broken = append(o.broken, *broken)
		case launchable:
			o.launchable = append(o.launchable, i)
			o.cheapest = min(o.cheapest, offering.Price)
			if offering.ReservationID == "" {
				o.unreserved = min(o.unreserved, offering.Price)
			}
			c.addLabelSets(o, t.keys, values)
		}
	}
	if len(o.launchable) == 0 && len(o.broken) == 0 {
		o.broken = append(o.broken, Violation{Rule: RuleOffering, Type: it.Name,
			Detail: "has no available offering within the node's requirements"})
	}
	for _, l := range o.labels {
		d := c.daemonsAt(l, t)
		if !slices.ContainsFunc(o.present, func(known *demand) bool { return known.key == d.key }) {
			o.present = append(o.present, d)
		}
	}
	return o
}

// A column is the outcome of one label if the offering of the type does not set it, and the values that offerings set (see
// typeLabels).
type column struct {
	label      *templateLabel
	byType     outcome
	byOffering [][]nodematch.Value
}

// valuesOf sets values to the possible values of each label if the i-th offering of a type is launched. launchable is false if
// the claim's requirements exclude the offering, or if a label causes a violation, which is then returned.
func (t *template) valuesOf(columns []column, i int, values [][]nodematch.Value) (launchable bool, broken *Violation) {
	for at, c := range columns {
		o := c.byType
		if c.byOffering != nil && c.byOffering[i] != nil {
			o = t.outcomeOf(c.label, c.byOffering[i], true)
		}
		if broken == nil {
			broken = o.broken
		}
		if o.values == nil && o.broken == nil {
			return false, nil
		}
		values[at] = o.values
	}
	return broken == nil, broken
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
		if !c.index.Relevant[key] {
			continue
		}
		for _, v := range values[i][1:] {
			labels[i] = v
			add(labels)
		}
		labels[i] = values[i][0]
	}
}

// daemonsAt returns the summed demand of the DaemonSets that run on a node with these labels. Its key has their names.
func (c *catalog) daemonsAt(l *nodematch.LabelSet, t *template) *demand {
	sum := &demand{requests: model.Resources{}}
	for _, d := range c.daemons {
		if !d.admittedTo(l, t.taints) {
			continue
		}
		sum.key += d.key + "\n"
		sum.requests = sum.requests.Plus(d.requests)
		sum.ports = append(sum.ports, d.ports...)
		sum.volumes = append(sum.volumes, d.volumes...)
	}
	return sum
}

// An optionList has the options of a node. Planned nodes with the same template and list of types share it. Checks that do not
// depend on pods are made once for the list.
type optionList struct {
	options []*option
	// labels are all label sets of the options, without duplicates.
	labels []*nodematch.LabelSet
	// problems are the violations of the list for any node: each type must belong to the pool, be listed once, and
	// break no rule.
	problems []Violation
	// sorted is true if the options are sorted by price, with or without the prices of reservations.
	sorted bool
}

// listOf returns the option list of n, a node of the template.
func (c *catalog) listOf(t *template, n *model.PlannedNode) *optionList {
	if len(n.Options) == 0 {
		none := Violation{Rule: RuleType, Detail: "has no instance type to launch"}
		return &optionList{problems: []Violation{none}}
	}
	if l := t.lists[&n.Options[0]]; l != nil && len(l.options) == len(n.Options) {
		return l
	}
	l := c.newList(t, n.Options)
	t.lists[&n.Options[0]] = l
	problem := func(it, detail string) {
		l.problems = append(l.problems, Violation{Rule: RuleType, Type: it, Detail: detail})
	}
	if len(n.Options) > maxOptions {
		problem("", fmt.Sprintf("has %d options, more than the %d that a claim may name", len(n.Options), maxOptions))
	}
	ofPool := make(map[*model.InstanceType]bool)
	for _, it := range c.snapshot.Types(n.Pool.Name) {
		ofPool[it] = true
	}
	seen := make(map[*model.InstanceType]bool, len(n.Options))
	for i, it := range n.Options {
		switch {
		case !ofPool[it]:
			problem(it.Name, "is not a type of the pool")
		case seen[it]:
			problem(it.Name, "is listed twice")
		}
		seen[it] = true
		l.problems = append(l.problems, l.options[i].broken...)
	}
	l.sorted = slices.IsSortedFunc(l.options, func(a, b *option) int { return cmp.Compare(a.cheapest, b.cheapest) }) ||
		slices.IsSortedFunc(l.options, func(a, b *option) int { return cmp.Compare(a.unreserved, b.unreserved) })
	return l
}

// newList returns the options of the types, without checking them.
func (c *catalog) newList(t *template, types []*model.InstanceType) *optionList {
	l := &optionList{}
	known := make(map[*nodematch.LabelSet]bool)
	for _, it := range types {
		o := c.optionOf(t, it)
		l.options = append(l.options, o)
		for _, set := range o.labels {
			if !known[set] {
				l.labels = append(l.labels, set)
			}
			known[set] = true
		}
	}
	return l
}
