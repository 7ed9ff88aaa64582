package verify

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// A menu is the options of a node, looked at together. Nodes of one shape that name the very same list share one: what
// holds for the list is found out once, and a node for which all of it is well needs no look at each option.
type menu struct {
	types   []*model.InstanceType
	options []*option
	// well says that each is a type of the pool, listed once, and breaks no rule.
	well bool
	// least is the most that every option has left beside any daemons, of each resource that was asked for so far.
	least map[corev1.ResourceName]int64
	// ported says that some daemon takes a host port.
	ported bool
	// places are all the nodes that may come of it, once asked for.
	places []*place
	// ordered says that the prices ascend, with reservations or without; cheapest is the lowest without.
	ordered  bool
	cheapest float64
}

// A menuKey is a list of types, told by where it is in memory, and the shape of the node.
type menuKey struct {
	shape *shape
	first **model.InstanceType
	n     int
}

// menuOf returns the options of n, a node of the shape.
func (c *checker) menuOf(sh *shape, n *model.PlannedNode) *menu {
	if len(n.Options) == 0 {
		return &menu{least: map[corev1.ResourceName]int64{}}
	}
	key := menuKey{sh, &n.Options[0], len(n.Options)}
	if s, ok := c.menus[key]; ok {
		return s
	}
	s := &menu{types: n.Options, well: len(n.Options) <= maxOptions, least: map[corev1.ResourceName]int64{}, cheapest: math.Inf(1)}
	c.menus[key] = s
	types := c.typesOf(n.Pool.Name)
	seen := make(map[*model.InstanceType]bool, len(n.Options))
	var with, without []float64
	for _, t := range n.Options {
		o := c.optionOf(sh, t)
		s.options = append(s.options, o)
		s.well = s.well && types[t.Name] == t && !seen[t] && len(o.broken) == 0
		seen[t] = true
		s.ported = s.ported || slices.ContainsFunc(o.daemons, func(d *demand) bool { return len(d.ports) > 0 })
		with, without = append(with, cheapest(o.offerings, true)), append(without, cheapest(o.offerings, false))
		s.cheapest = min(s.cheapest, without[len(without)-1])
	}
	s.ordered = slices.IsSorted(with) || slices.IsSorted(without)
	return s
}

// holds reports whether every option holds the load, whichever daemons come with it. A no may be for the ports' sake alone.
func (s *menu) holds(l *load) bool {
	if s.ported && len(l.ports.ports) > 0 {
		return false
	}
	for _, name := range l.names {
		if want := l.requests[name]; want > 0 && want > s.leastOf(name) {
			return false
		}
	}
	return true
}

func (s *menu) leastOf(name corev1.ResourceName) int64 {
	least, ok := s.least[name]
	if !ok {
		least = math.MaxInt64
		for i, t := range s.types {
			for _, d := range s.options[i].daemons {
				least = min(least, t.Allocatable[name]-d.requests[name])
			}
		}
		s.least[name] = least
	}
	return least
}
