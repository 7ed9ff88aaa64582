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
	// reqs are the labels the node has or may get. Of a claim that is not launched every value must suit a pod, since
	// nobody knows which one it will be.
	reqs require.Set
	open bool // not launched: several values are possible
	room []int64
	pods []*model.Pod
}

// targets returns the nodes that take pods, initialized ones first, then by name.
func targets(s *model.Snapshot, cols columns, o Options) []*target {
	daemons := s.Daemons()
	var out []*target
	for _, n := range s.Nodes() {
		if n.Deleting {
			continue
		}
		if t := newTarget(s, n, daemons, cols, o); t != nil {
			out = append(out, t)
		}
	}
	slices.SortStableFunc(out, func(a, b *target) int {
		return cmp.Or(
			-compareBool(a.node.Initialized, b.node.Initialized),
			strings.Compare(a.node.Name, b.node.Name),
		)
	})
	return out
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

// newTarget returns nil for a node that takes no pods: cordoned, or a claim of which nothing is known.
func newTarget(s *model.Snapshot, n *model.Node, daemons []*model.Daemon, cols columns, o Options) *target {
	if n.Object != nil && n.Object.Spec.Unschedulable {
		return nil
	}
	t := &target{node: n}
	asPool := &model.Pool{Taints: n.Taints}
	if n.Launched() {
		t.reqs = require.FromLabels(n.Labels)
		pending := pendingDaemons(overhead(daemonsOn(daemons, asPool, o), t.reqs, o), n.DaemonUsed)
		t.room = cols.vector(n.Free().Minus(pending))
		return t
	}
	t.open, t.reqs = true, n.Wishes()
	residents := daemonsOn(daemons, asPool, o)
	types := wishedTypes(n, s.Types(n.Pool))
	if len(types) == 0 {
		return nil
	}
	for i, typ := range types {
		reqs := typ.Requirements.And(t.reqs)
		room := cols.vector(typ.Allocatable.Minus(overhead(residents, reqs, o)))
		if i == 0 {
			t.room = room
			continue
		}
		for c := range room {
			t.room[c] = min(t.room[c], room[c])
		}
	}
	t.reqs = superposition(types, t.reqs)
	return t
}

// pendingDaemons returns what daemons will still ask for on a node where some of them run already.
func pendingDaemons(all, running model.Resources) model.Resources {
	left := all.Minus(running)
	for name, v := range left {
		left[name] = max(v, 0)
	}
	return left
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

// admits reports whether a pod that asks for term may go to t as far as labels are concerned.
func (t *target) admits(term require.Set) bool {
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

// takes reports whether the class may run on t at all, resources aside.
func (t *target) takes(c *class) bool {
	if _, ok := tolerates(c.tolerations, t.node.Taints); !ok {
		return false
	}
	return slices.ContainsFunc(c.terms, t.admits)
}

// placeExisting puts pods onto targets: first those that were promised a node, where it still holds, then all others,
// first fit, largest class first.
func placeExisting(classes []*class, targets []*target, promised map[string]string) {
	byName := map[string]*target{}
	for _, t := range targets {
		byName[t.node.Name] = t
		if t.node.Claim != nil {
			byName[t.node.Claim.Name] = t
		}
	}
	for _, c := range classes {
		if c.refusal.OK() {
			keepPromises(c, byName, promised)
		}
	}
	for _, c := range classes {
		if !c.refusal.OK() {
			continue
		}
		for _, t := range targets {
			if c.left() == 0 {
				break
			}
			n := copies(c.need, t.room, c.left())
			if n > 0 && t.takes(c) {
				subtract(t.room, c.need, n)
				t.pods = append(t.pods, c.take(n)...)
			}
		}
	}
}

// keepPromises places the pods of c that have been told a node.
func keepPromises(c *class, byName map[string]*target, promised map[string]string) {
	if len(promised) == 0 {
		return
	}
	rest := c.pods[:0:0]
	for _, p := range c.pods {
		t := byName[promised[p.Key]]
		if t == nil || copies(c.need, t.room, 1) == 0 || !t.takes(c) {
			rest = append(rest, p)
			continue
		}
		subtract(t.room, c.need, 1)
		t.pods = append(t.pods, p)
	}
	c.pods = rest
}
