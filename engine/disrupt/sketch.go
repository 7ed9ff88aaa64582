package disrupt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
)

// A sketch is a small cluster drawn after a large one, to ask about one node at a time: a few nodes with their free room and
// no pods, and of the instance types those that are the cheapest of their size.
//
// It knows nothing of company: it is asked only about pods that go anywhere. Its no is taken for an answer, its yes only
// for a reason to ask the whole cluster. What it leaves out could not change the answer of a packer that looks at everything;
// see near and undominated. Ours does not try everything, so a no may now and then be wrong: TestSketchLosesLittle says how
// often.
type sketch struct {
	empty *model.Snapshot // pools, daemons and types, without nodes
	// below is empty with only the types that cost less than the price.
	below map[float64]*model.Snapshot
	rooms []*roomy // most room first
}

// A roomy node takes pods. Object is the node as large as its free room and its daemons.
type roomy struct {
	name   string
	object *corev1.Node
	taints []corev1.Taint
	free   amounts
}

// amounts are what there is, or is asked for, of the usual resources.
type amounts [len(usual)]int64

func amountsOf(r model.Resources) (a amounts) {
	for i, name := range usual {
		a[i] = r[name]
	}
	return a
}

// within reports whether so much is there.
func (a amounts) within(free amounts) bool {
	for i, v := range a {
		if v > free[i] && v > 0 {
			return false
		}
	}
	return true
}

// sketch draws the view.
func (d *decider) sketch() *sketch {
	var change model.Delta
	change.Types = map[string][]*model.InstanceType{}
	seen := map[string][]*model.InstanceType{}
	for _, p := range d.s.Pools() {
		like, types := likeness(p), d.s.Types(p.Name)
		if known, ok := seen[like]; ok && slices.EqualFunc(known, types, alike) {
			continue // another pool does as well
		}
		seen[like] = types
		change.Pools = append(change.Pools, p.Object)
		change.Types[p.Name] = undominated(types, p)
	}
	for _, o := range d.s.Daemons() {
		change.Daemons = append(change.Daemons, o.Object)
	}
	k := &sketch{empty: model.Compile(change).At(d.now), below: map[float64]*model.Snapshot{}}
	for _, n := range d.view.Nodes() {
		if n.Object == nil || n.Deleting || n.Object.Spec.Unschedulable {
			continue
		}
		free := n.Free()
		if free[corev1.ResourcePods] <= 0 {
			continue
		}
		o := *n.Object
		o.Status.Allocatable = free.Plus(n.DaemonUsed).List()
		k.rooms = append(k.rooms, &roomy{name: n.Name, object: &o, taints: n.Taints, free: amountsOf(free)})
	}
	slices.SortFunc(k.rooms, func(a, b *roomy) int {
		return cmp.Or(cmp.Compare(b.free[0], a.free[0]), cmp.Compare(b.free[1], a.free[1]), strings.Compare(a.name, b.name))
	})
	return k
}

// likeness says what pods that go anywhere see of a pool; they do not care which of two like ones launches their node.
func likeness(p *model.Pool) string {
	return fmt.Sprint(p.Weight, p.Usable(), p.Requirements.Without(apiv1.NodePoolLabelKey), p.Taints, p.Limits,
		p.Object.Spec.Template.Spec.NodeClassRef)
}

// alike reports whether two types are the same to pods that go anywhere.
func alike(a, b *model.InstanceType) bool {
	return a == b || a.Name == b.Name && amountsOf(a.Allocatable) == amountsOf(b.Allocatable) &&
		slices.EqualFunc(a.Offerings, b.Offerings, func(x, y model.Offering) bool {
			return x.Compare(y) == 0 && x.Available == y.Available && x.Price == y.Price
		})
}

// undominated returns the types that no other one of the list beats in price, cpu, memory and pods at once, where price is
// that of the cheapest offering that the pool allows.
func undominated(types []*model.InstanceType, p *model.Pool) []*model.InstanceType {
	prices := map[*model.InstanceType]float64{}
	var list []*model.InstanceType
	for _, t := range types {
		if _, ok := t.Requirements.Intersects(p.Requirements); !ok {
			continue
		}
		if o, ok := t.Cheapest(p.Requirements); ok {
			prices[t] = o.Price
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b *model.InstanceType) int {
		order := cmp.Compare(prices[a], prices[b])
		for _, name := range usual {
			order = cmp.Or(order, cmp.Compare(b.Allocatable[name], a.Allocatable[name]))
		}
		return cmp.Or(order, strings.Compare(a.Name, b.Name))
	})
	var kept []*model.InstanceType
	for _, t := range list {
		if !slices.ContainsFunc(kept, func(k *model.InstanceType) bool { return covers(k, t) }) {
			kept = append(kept, t)
		}
	}
	slices.SortFunc(kept, func(a, b *model.InstanceType) int { return strings.Compare(a.Name, b.Name) })
	return kept
}

// usual are the resources that every machine has.
var usual = [...]corev1.ResourceName{
	corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods, corev1.ResourceEphemeralStorage,
}

// covers reports whether a has at least what b has of the usual resources.
func covers(a, b *model.InstanceType) bool {
	for _, name := range usual {
		if a.Allocatable[name] < b.Allocatable[name] {
			return false
		}
	}
	return true
}

// hopeless reports whether, by the sketch, doing without the node cannot pay. It is only asked about nodes whose pods are
// all plain.
func (d *decider) hopeless(k *sketch, c *candidate) bool {
	change := model.Delta{Nodes: k.near(c)}
	for _, p := range c.pods {
		change.Pods = append(change.Pods, p.Unbound().Object)
	}
	d.out.Stats.Sketches++
	options := d.o.Pack
	options.Effort = -1         // a plan that can be improved on by searching is looked into in the whole
	options.DefaultSpread = nil // it does not show over what the other pods are spread
	plan := pack.Solve(k.cheaperThan(c.price).Apply(change), options)
	if len(plan.Refusals) > 0 {
		return true
	}
	cost := sumPrice(plan.Nodes)
	return d.weigh([]*candidate{c}, c.price-cost, cost).net() <= 0
}

// cheaperThan returns the sketch without nodes and without the types that cost as much.
func (k *sketch) cheaperThan(price float64) *model.Snapshot {
	if s, ok := k.below[price]; ok {
		return s
	}
	types := map[string][]*model.InstanceType{}
	for _, p := range k.empty.Pools() {
		types[p.Name] = slices.DeleteFunc(slices.Clone(k.empty.Types(p.Name)), func(t *model.InstanceType) bool {
			o, ok := t.Cheapest(p.Requirements)
			return !ok || o.Price >= price
		})
	}
	k.below[price] = k.empty.Apply(model.Delta{Types: types})
	return k.below[price]
}

// plain reports whether the pods go wherever there is room and their tolerations allow: no selector, no company that they
// seek or shun, no volumes, no ports, no devices.
func plain(pods []*model.Pod) bool {
	for _, p := range pods {
		for name := range p.Requests {
			if !slices.Contains(usual[:], name) {
				return false
			}
		}
		spec := &p.Object.Spec
		if len(spec.NodeSelector) > 0 || spec.Affinity != nil || len(spec.TopologySpreadConstraints) > 0 ||
			len(spec.ResourceClaims) > 0 {
			return false
		}
		for _, v := range spec.Volumes {
			if v.PersistentVolumeClaim != nil || v.Ephemeral != nil {
				return false
			}
		}
		for _, c := range spec.Containers {
			if slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.HostPort != 0 }) {
				return false
			}
		}
	}
	return true
}
