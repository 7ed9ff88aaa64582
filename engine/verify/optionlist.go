package verify

import (
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/verify/nodematch"
)

// An optionList is the options of a node, which are checked together. Nodes with the same template and the same list
// of types share one, so that each check of the list is made once.
type optionList struct {
	types   []*model.InstanceType
	options []*option
	// problems are the violations of the list for any node. Each type must belong to the pool, be listed once, and
	// violate no rule.
	problems []Violation
	// free is, for each resource looked up so far, the amount that each option has in addition to any DaemonSets.
	free map[corev1.ResourceName]int64
	// hostPorts means that some DaemonSet uses a host port.
	hostPorts bool
	// labels are all label sets that the node may have. It is nil until they are needed.
	labels []*nodematch.LabelSet
	// ordered means that the types are sorted by price, either with or without reservations. cheapest is the lowest
	// price without them.
	ordered  bool
	cheapest float64
}

// An optionListKey identifies a list of types by its address, and the template of the node.
type optionListKey struct {
	template *template
	first    **model.InstanceType
	n        int
}

// listOf returns the options of n, a node of the template.
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

// holds reports whether each option can hold the load, whichever DaemonSets run on the node. It may return false only
// because of host ports that do not conflict.
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
