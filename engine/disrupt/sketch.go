package disrupt

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
)

// A sketch is a small cluster drawn after a large one, to ask about one node at a time: a few nodes with their free room and
// no pods, and of the instance types those that are the cheapest of their size.
//
// It knows nothing of company: it is asked only about pods that go anywhere. Its no is taken for an answer, its yes only
// for a reason to ask the whole cluster.
type sketch struct {
	empty *model.Snapshot // pools, daemons and types, without nodes
	// below is empty with only the types that cost less than the price.
	below map[float64]*model.Snapshot
	rooms []*roomy // most room first
}

// A roomy node takes pods. Object is the node as large as its free room.
type roomy struct {
	name   string
	object *corev1.Node
	free   model.Resources
}

// destinations is how many nodes a sketch shows at most.
const destinations = 24

// sketch draws the view.
func (d *decider) sketch() *sketch {
	var change model.Delta
	change.Types = map[string][]*model.InstanceType{}
	for _, p := range d.s.Pools() {
		change.Pools = append(change.Pools, p.Object)
		change.Types[p.Name] = undominated(d.s.Types(p.Name), p)
	}
	for _, o := range d.s.Daemons() {
		change.Daemons = append(change.Daemons, o.Object)
	}
	k := &sketch{empty: model.Compile(change).At(d.now), below: map[float64]*model.Snapshot{}}
	for _, n := range d.view.Nodes() {
		if n.Object == nil || n.Deleting || n.Object.Spec.Unschedulable {
			continue
		}
		free := n.Free().Plus(n.DaemonUsed)
		if free[corev1.ResourceCPU] <= 0 || free[corev1.ResourcePods] <= 0 {
			continue
		}
		o := *n.Object
		o.Status.Allocatable = free.List()
		k.rooms = append(k.rooms, &roomy{name: n.Name, object: &o, free: free})
	}
	slices.SortFunc(k.rooms, func(a, b *roomy) int {
		return cmp.Or(
			cmp.Compare(b.free[corev1.ResourceCPU], a.free[corev1.ResourceCPU]),
			cmp.Compare(b.free[corev1.ResourceMemory], a.free[corev1.ResourceMemory]),
			strings.Compare(a.name, b.name),
		)
	})
	return k
}

// undominated returns the types that no other one of the list beats in price, cpu, memory and pods at once, where price is
// that of the cheapest offering that the pool allows. A type with a resource of another kind is kept.
func undominated(types []*model.InstanceType, p *model.Pool) []*model.InstanceType {
	type entry struct {
		t             *model.InstanceType
		price         float64
		cpu, mem, pod int64
		special       bool
	}
	var list []entry
	for _, t := range types {
		if _, ok := t.Requirements.Intersects(p.Requirements); !ok {
			continue
		}
		o, ok := t.Cheapest(p.Requirements)
		if !ok {
			continue
		}
		a := t.Allocatable
		list = append(list, entry{
			t: t, price: o.Price, cpu: a[corev1.ResourceCPU], mem: a[corev1.ResourceMemory], pod: a[corev1.ResourcePods],
			special: special(a),
		})
	}
	slices.SortFunc(list, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.price, b.price), cmp.Compare(b.cpu, a.cpu), cmp.Compare(b.mem, a.mem),
			cmp.Compare(b.pod, a.pod), strings.Compare(a.t.Name, b.t.Name))
	})
	var kept []entry
	var out []*model.InstanceType
	for _, e := range list {
		beaten := !e.special && slices.ContainsFunc(kept, func(k entry) bool {
			return k.cpu >= e.cpu && k.mem >= e.mem && k.pod >= e.pod
		})
		if !beaten {
			kept = append(kept, e)
			out = append(out, e.t)
		}
	}
	slices.SortFunc(out, func(a, b *model.InstanceType) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// special reports whether there is more than the resources that every machine has.
func special(r model.Resources) bool {
	for name, v := range r {
		switch name {
		case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods, corev1.ResourceEphemeralStorage:
		default:
			if v > 0 {
				return true
			}
		}
	}
	return false
}

// hopeless reports whether, by the sketch, doing without the node cannot pay. It is only asked about nodes whose pods are
// all plain.
func (d *decider) hopeless(k *sketch, c *candidate) bool {
	var change model.Delta
	for _, r := range k.rooms {
		if r.name != c.node.Name && slices.ContainsFunc(c.pods, func(p *model.Pod) bool { return fitsIn(p, r.free) }) {
			change.Nodes = append(change.Nodes, r.object)
			if len(change.Nodes) == destinations {
				break
			}
		}
	}
	for _, p := range c.pods {
		change.Pods = append(change.Pods, p.Unbound().Object)
	}
	d.out.Stats.Sketches++
	plan := pack.Solve(k.cheaperThan(c.price).Apply(change), d.o.Pack)
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

func fitsIn(p *model.Pod, free model.Resources) bool {
	for name, v := range p.Requests {
		if v > free[name] && v > 0 {
			return false
		}
	}
	return true
}

// plain reports whether the pods go wherever there is room and their tolerations allow: no selector, no company that they
// seek or shun, no volumes, no ports.
func plain(pods []*model.Pod) bool {
	for _, p := range pods {
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
