package pack

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// A target is capacity that exists or is in flight, with the room that is left on it.
type target struct {
	node *model.Node
	// index is the target's own domain; -1 for a node that takes no pods and is only counted.
	index int
	// reqs are the labels the node has or may get. Of a claim that is not launched every value must suit a pod, since
	// nobody knows which one it will be.
	reqs require.Set
	open bool // not launched: several values are possible
	// kinds are the labels by each type that an open one may become, once somebody counts domains.
	kinds []require.Set
	// company are the groups, of those that pods want to be near, of which one is placed on an open one.
	company map[int]bool
	room    []int64
	// domains holds the number of the node's value of each topology key, or nowhere, or unsettled.
	domains []int
	// attach is what is left of the limits on volumes, by driver; a driver that is not in it has none. attached are the volumes
	// that count already, by driver and key.
	attach      map[string]int
	attached    map[string]bool
	daemonPorts []port
	crew        []crewman // the daemons' pods that it has not got yet
	pods        []*model.Pod
	kept        []kept // those of pods that may go elsewhere if somebody needs their room
}

// nowhere is the domain of a node that lacks the label, unsettled that of one that will have one of several values.
const (
	nowhere   = -1
	unsettled = -2
)

func (t *target) domain(key int) int {
	if key == hostKey {
		return t.index
	}
	return t.domains[key]
}

// survey returns the nodes that take pods, initialized ones first, then by name, and after them, in everywhere, those that
// only count for topology.
func (p *problem) survey() {
	p.adrift = make([]bool, len(p.keys))
	daemons := p.snapshot.Daemons()
	least := p.leastNeed()
	var idle []*target
	for _, n := range p.snapshot.Nodes() {
		t := p.newTarget(n, daemons, least)
		switch {
		case t == nil:
		case t.index < 0:
			idle = append(idle, t)
		default:
			p.targets = append(p.targets, t)
		}
	}
	slices.SortStableFunc(p.targets, func(a, b *target) int {
		return cmp.Or(
			-compareBool(a.node.Initialized, b.node.Initialized),
			strings.Compare(a.node.Name, b.node.Name),
		)
	})
	for i, t := range p.targets {
		t.index = i
	}
	p.everywhere = append(slices.Clone(p.targets), idle...)
}

// leastNeed returns, of each column, the least that any class asks for: a node with less has room for none.
func (p *problem) leastNeed() []int64 {
	least := make([]int64, len(p.cols))
	for i := range least {
		least[i] = unlimited
		for _, c := range p.classes {
			least[i] = min(least[i], c.need.amount[i])
		}
	}
	return least
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// newTarget returns nil for a node of which nothing is known, and one with index -1 for a node that takes no more pods.
func (p *problem) newTarget(n *model.Node, daemons []*model.Daemon, least []int64) *target {
	t := &target{node: n, index: -1}
	if n.Launched() {
		return p.launchedTarget(t, daemons, least)
	}
	if n.Deleting {
		return nil
	}
	t.open, t.reqs = true, n.Wishes()
	residents := daemonsOn(daemons, n.Taints, p.opts, true)
	types := wishedTypes(n, p.snapshot.Types(n.Pool))
	if len(types) == 0 {
		return nil
	}
	var aboard cargo
	for i, typ := range types {
		if len(p.hands) > 0 {
			crew := p.crewOf(residents, typ.Requirements.And(t.reqs), nil)
			if i > 0 {
				crew = merge(t.crew, crew)
			}
			t.crew = crew
		}
		with := overhead(residents, typ.Requirements.And(t.reqs), p.opts)
		room := p.cols.vector(typ.Allocatable.Minus(with.sum))
		brought := p.attachableBy(typ, with.bearers, room)
		t.daemonPorts = with.ports
		if i == 0 {
			t.room, aboard = room, brought
			continue
		}
		aboard = slices.DeleteFunc(aboard, func(x crate) bool { return !brought.has(cargo{x}) })
		for c := range room {
			t.room[c] = min(t.room[c], room[c])
		}
	}
	p.limitOpen(t, aboard)
	if len(p.groups) > 0 {
		for _, typ := range types {
			t.kinds = append(t.kinds, typ.Requirements.And(t.reqs))
		}
	}
	t.reqs = superposition(types, t.reqs)
	t.index = 0
	p.locate(t)
	return t
}

func (p *problem) launchedTarget(t *target, daemons []*model.Daemon, least []int64) *target {
	n := t.node
	p.locate(t)
	if n.Deleting {
		return t
	}
	if len(p.hands) > 0 {
		t.crew = p.crewOf(p.residents(daemons, n), require.FromLabels(n.Labels), n)
	}
	o := p.opts
	if n.Registered {
		o.Labels.WellKnown = nil // it has all labels that it gets
	}
	for i, name := range p.cols[:p.plain] {
		if least[i] > n.Allocatable[name]-n.Used[name] {
			return t
		}
	}
	residents := p.residents(daemons, n)
	if slices.ContainsFunc(residents, func(r resident) bool { return !r.anywhere }) {
		t.reqs = require.FromLabels(n.Labels)
	}
	with := overhead(residents, t.reqs, o)
	t.daemonPorts = with.ports
	t.room = make([]int64, len(p.cols))
	p.leaveToAttach(t)
	for i, name := range p.cols[:p.plain] {
		t.room[i] = n.Allocatable[name] - n.Used[name] - max(with.sum[name]-n.DaemonUsed[name], 0)
		if least[i] > t.room[i] {
			return t // what is free is the daemons'
		}
	}
	if limits := p.limitsOn(n); len(limits) > 0 {
		used := p.snapshot.AttachedTo(n)
		t.attach, t.attached = map[string]int{}, map[string]bool{}
		for driver, limit := range limits {
			t.attach[driver] = limit - len(used[driver])
			for key := range used[driver] {
				t.attached[driver+" "+key] = true
			}
		}
		p.attachDaemons(t, with.bearers)
	}
	t.index = 0
	return t
}

// locate numbers the domains that t is in.
func (p *problem) locate(t *target) {
	if len(p.groups) == 0 {
		return
	}
	t.domains = make([]int, len(p.keys))
	for i, k := range p.keys {
		t.domains[i] = nowhere
		if t.open {
			if r, ok := t.reqs.Get(k.label); ok {
				t.domains[i] = unsettled
				switch {
				case r.Operator() != corev1.NodeSelectorOpIn:
					p.adrift[i] = true
				case r.Len() == 1:
					t.domains[i] = k.of(r.Values()[0])
				default:
					for v := range r.Each() {
						k.of(v)
					}
				}
			}
			continue
		}
		if v, ok := t.node.Labels[k.label]; ok && i != hostKey {
			t.domains[i] = k.of(v)
		}
	}
}

// residents returns the daemons that the node's taints let in. Most nodes have the same taints, so the last answers are
// remembered.
func (p *problem) residents(daemons []*model.Daemon, n *model.Node) []resident {
	for _, known := range p.resident {
		if known.toCome == !n.Registered && slices.EqualFunc(known.taints, n.Taints, func(a, b corev1.Taint) bool {
			return a.MatchTaint(&b) && a.Value == b.Value
		}) {
			return known.list
		}
	}
	r := residence{taints: n.Taints, toCome: !n.Registered, list: daemonsOn(daemons, n.Taints, p.opts, !n.Registered)}
	p.resident = append(p.resident[:min(len(p.resident), 15)], r)
	return r.list
}

// A residence is the daemons of nodes with certain taints.
type residence struct {
	taints []corev1.Taint
	toCome bool
	list   []resident
}

// wishedTypes returns the types that a claim that is not launched may become.
func wishedTypes(n *model.Node, types []*model.InstanceType) []*model.InstanceType {
	wishes := n.Wishes()
	var out []*model.InstanceType
	for _, t := range types {
		if _, ok := t.Requirements.Intersects(wishes); ok {
			out = append(out, t)
		}
	}
	return out
}

// superposition returns wishes with each key that the types define set to all values that one of them may bring.
func superposition(types []*model.InstanceType, wishes require.Set) require.Set {
	values := map[string]map[string]bool{}
	vague := map[string]bool{} // some type leaves the value open, or lacks the label
	for _, t := range types {
		for r := range t.Requirements.All() {
			if r.Operator() != corev1.NodeSelectorOpIn {
				vague[r.Key()] = true
				continue
			}
			if values[r.Key()] == nil {
				values[r.Key()] = map[string]bool{}
			}
			for v := range r.Each() {
				values[r.Key()][v] = true
			}
		}
	}
	for key, set := range values {
		if vague[key] {
			continue
		}
		list := make([]string, 0, len(set))
		for v := range set {
			list = append(list, v)
		}
		wishes = wishes.With(require.New(key, corev1.NodeSelectorOpIn, list...))
	}
	return wishes
}

// admits reports whether a node's labels meet one of the alternatives. The answer is remembered.
func (p *problem) admits(a *alternatives, t *target) bool {
	if t.index >= 0 && len(p.targets) > 0 {
		seen := p.onTarget[a.id]
		if seen == nil {
			seen = make([]int8, len(p.targets))
			p.onTarget[a.id] = seen
		}
		if seen[t.index] == 0 {
			seen[t.index] = -1
			if t.suits(a, p.opts) {
				seen[t.index] = 1
			}
		}
		return seen[t.index] > 0
	}
	return t.suits(a, p.opts)
}

func (t *target) suits(a *alternatives, o Options) bool {
	if t.reqs.Len() == 0 {
		t.reqs = require.FromLabels(t.node.Labels)
	}
	return slices.ContainsFunc(a.terms, func(term require.Set) bool {
		if t.open || !t.node.Registered {
			term = term.Normalize(o.Labels.Aliases) // it will have old names of labels as well
		}
		return t.meets(term)
	})
}

// meets reports whether a pod that asks for term may go to t as far as labels are concerned.
func (t *target) meets(term require.Set) bool {
	if _, ok := t.reqs.Compatible(term, nil); !ok {
		return false
	}
	if !t.open {
		return true
	}
	for want := range term.All() {
		have, ok := t.reqs.Get(want.Key())
		if !ok {
			continue // Compatible has judged that absence suits
		}
		if have.Operator() != corev1.NodeSelectorOpIn {
			return false
		}
		for v := range have.Each() {
			if !want.Has(v) {
				return false
			}
		}
	}
	return true
}
