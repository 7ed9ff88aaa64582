package verify

import (
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/verify/nodematch"
)

// An optionList has the options of all planned nodes with the same template and list of types. Checks that do not
// depend on pods are made once for the list.
type optionList struct {
	types   []*model.InstanceType
	options []*option
	// problems are the violations of the list for any node: each type must belong to the pool, be listed once, and
	// break no rule.
	problems []Violation
	// free caches, by resource, the lowest amount that DaemonSets leave on any of the options.
	free map[corev1.ResourceName]int64
	// hostPorts is true if a DaemonSet that may run on one of the options uses a host port.
	hostPorts bool
	// labels are all label sets that the node may have, nil until computed.
	labels []*nodematch.LabelSet
	// ordered is true if the types are sorted by price, with or without the prices of reservations. cheapest is the
	// lowest price without reservations.
	ordered  bool
	cheapest float64
}

// An optionListKey identifies a template and a list of types, by the address and length of the list.
type optionListKey struct {
	template *template
	first    **model.InstanceType
	n        int
}

// listOf returns the option list of n, a node of the template.
func (c *catalog) listOf(t *template, n *model.PlannedNode) *optionList {
	if len(n.Options) == 0 {
		return &optionList{
			problems: []Violation{{Rule: RuleType, Detail: "has no instance type to launch"}}, free: map[corev1.ResourceName]int64{},
		}
	}
	key := optionListKey{t, &n.Options[0], len(n.Options)}
	if l, ok := c.lists[key]; ok {
		return l
	}
	l := &optionList{types: n.Options, free: map[corev1.ResourceName]int64{}, cheapest: math.Inf(1)}
	c.lists[key] = l
	problem := func(it, detail string) {
		l.problems = append(l.problems, Violation{Rule: RuleType, Type: it, Detail: detail})
	}
	if len(n.Options) > maxOptions {
		problem("", fmt.Sprintf("has %d options, more than the %d that a claim may name", len(n.Options), maxOptions))
	}
	types := c.typesOf(n.Pool.Name)
	seen := make(map[*model.InstanceType]bool, len(n.Options))
	var with, without []float64
	for _, it := range n.Options {
		switch {
		case types[it.Name] != it:
			problem(it.Name, "is not a type of the pool")
		case seen[it]:
			problem(it.Name, "is listed twice")
		}
		seen[it] = true
		o := c.optionOf(t, it)
		l.options = append(l.options, o)
		l.problems = append(l.problems, o.broken...)
		l.hostPorts = l.hostPorts || slices.ContainsFunc(o.daemons, func(d *demand) bool { return len(d.ports) > 0 })
		with, without = append(with, cheapest(o.offerings, true)), append(without, cheapest(o.offerings, false))
		l.cheapest = min(l.cheapest, without[len(without)-1])
	}
	l.ordered = slices.IsSorted(with) || slices.IsSorted(without)
	return l
}

// holds reports whether each option has room for the load, whichever DaemonSets run on the node. If the load and some
// DaemonSet have host ports, it returns false without comparing them.
func (l *optionList) holds(load *load) bool {
	if l.hostPorts && len(load.ports.ports) > 0 {
		return false
	}
	for _, name := range load.names {
		if want := load.requests[name]; want > 0 && want > l.freeOf(name) {
			return false
		}
	}
	return true
}

func (l *optionList) freeOf(name corev1.ResourceName) int64 {
	least, ok := l.free[name]
	if !ok {
		least = math.MaxInt64
		for i, t := range l.types {
			for _, d := range l.options[i].daemons {
				least = min(least, t.Allocatable[name]-d.requests[name])
			}
		}
		l.free[name] = least
	}
	return least
}
