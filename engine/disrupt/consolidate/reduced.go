package consolidate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/commitment"
	"github.com/karpenter-go/karpenter/engine/disrupt/problem"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
)

// A reduced cluster is used to screen candidates of a large cluster. It has a few nodes with their free capacity and
// without pods, and only instance types that no other type dominates.
//
// It is valid only for candidates with unconstrained pods. A refusal is final. A candidate that passes is evaluated in
// the whole cluster. For an exact packer the reduction would not change the result: see destinations and undominated.
// The packer is a heuristic, so a refusal may be wrong; TestScreeningLosesLittle measures how often.
type reduced struct {
	problem *problem.Problem
	empty   *model.Snapshot // pools, DaemonSets and types, without nodes
	// below[price] is the snapshot empty, restricted to types that cost less than price.
	below map[float64]*model.Snapshot
	nodes []*freeNode // most free cpu first, then most free memory, then by name
}

// A freeNode is a node that may receive pods. The allocatable of object is the free capacity plus the requests of
// DaemonSet pods.
type freeNode struct {
	name   string
	object *corev1.Node
	taints []corev1.Taint
	free   amounts
}

// usual are the resources that every instance type has.
var usual = [...]corev1.ResourceName{
	corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods, corev1.ResourceEphemeralStorage,
}

// amounts are quantities of the usual resources.
type amounts [len(usual)]int64

func amountsOf(r model.Resources) (a amounts) {
	for i, name := range usual {
		a[i] = r[name]
	}
	return a
}

// within reports whether each positive amount of a is at most that of b.
func (a amounts) within(b amounts) bool {
	for i, v := range a {
		if v > b[i] && v > 0 {
			return false
		}
	}
	return true
}

// reduce creates the reduced cluster.
func reduce(p *problem.Problem, cluster *model.Snapshot) *reduced {
	change := model.Delta{Types: map[string][]*model.InstanceType{}}
	seen := map[string][]*model.InstanceType{}
	// The reduced cluster does not have all nodes, so the units that they use are deducted.
	left := problem.WithUnits(cluster, func(c *commitment.Commitment) (int64, bool) { return cluster.Coverage().Left(c.ID), true })
	for _, pool := range p.Snapshot.Pools() {
		key, types := poolKey(pool), p.Snapshot.Types(pool.Name)
		if known, ok := seen[key]; ok && slices.EqualFunc(known, types, equalTypes) {
			continue // another pool can launch the same nodes
		}
		seen[key] = types
		change.Pools = append(change.Pools, pool.Object)
		if left != nil {
			types = left[pool.Name]
		}
		change.Types[pool.Name] = undominated(types, pool, cluster.Coverage())
	}
	for _, o := range p.Snapshot.Daemons() {
		change.Daemons = append(change.Daemons, o.Object)
	}
	r := &reduced{problem: p, empty: model.WithoutObjects(p.Snapshot).Apply(change), below: map[float64]*model.Snapshot{}}
	for _, n := range cluster.Nodes() {
		free := n.Free()
		if n.Object == nil || n.Deleting || n.Object.Spec.Unschedulable || cluster.Closed(n) || free[corev1.ResourcePods] <= 0 {
			continue
		}
		o := *n.Object
		o.Status.Allocatable = free.Plus(n.DaemonUsed).List()
		r.nodes = append(r.nodes, &freeNode{name: n.Name, object: &o, taints: n.Taints, free: amountsOf(free)})
	}
	slices.SortFunc(r.nodes, func(a, b *freeNode) int {
		return cmp.Or(cmp.Compare(b.free[0], a.free[0]), cmp.Compare(b.free[1], a.free[1]), strings.Compare(a.name, b.name))
	})
	return r
}

// poolKey returns a text that is equal only for pools whose nodes do not differ for unconstrained pods.
func poolKey(p *model.Pool) string {
	return fmt.Sprint(p.Weight, p.Usable(), p.Requirements.Without(apiv1.NodePoolLabelKey), p.Taints, p.Limits,
		p.Object.Spec.Template.Spec.NodeClassRef)
}

// equalTypes reports whether two types do not differ for unconstrained pods.
func equalTypes(a, b *model.InstanceType) bool {
	return a == b || a.Name == b.Name && amountsOf(a.Allocatable) == amountsOf(b.Allocatable) &&
		slices.EqualFunc(a.Offerings, b.Offerings, func(x, y model.Offering) bool {
			return x.Compare(y) == 0 && x.Launchable() == y.Launchable() && x.Price == y.Price
		})
}

// undominated returns the launchable types that no other type dominates, in name order. A type is dominated if another one
// has at least as much of each usual resource at no higher price. Prices are those of the cheapest offering that the pool
// allows. Types that a commitment of open still covers are kept.
func undominated(types []*model.InstanceType, pool *model.Pool, open *commitment.Coverage) []*model.InstanceType {
	prices := map[*model.InstanceType]float64{}
	var list []*model.InstanceType
	for t, o := range model.Launchable(types, pool.Requirements) {
		prices[t] = o.Price
		list = append(list, t)
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
		size := amountsOf(t.Allocatable)
		if t.CoveredNext(open) || !slices.ContainsFunc(kept, func(k *model.InstanceType) bool { return size.within(amountsOf(k.Allocatable)) }) {
			kept = append(kept, t)
		}
	}
	slices.SortFunc(kept, func(a, b *model.InstanceType) int { return strings.Compare(a.Name, b.Name) })
	return kept
}

// plan plans the candidate's pods in the reduced cluster without the candidate. See cheaperThan for the types that may be
// launched.
func (r *reduced) plan(c *problem.Candidate) *model.Plan {
	change := model.Delta{Nodes: r.destinations(c)}
	for _, p := range c.Pods {
		change.Pods = append(change.Pods, p.Unbound().Object)
	}
	options := r.problem.Options.Pack
	options.Fast = true                                                // plans in the whole cluster are improved
	options.DefaultSpread = nil                                        // the reduced cluster has no pods to count
	plan, _ := pack.Try(r.cheaperThan(c.Price).Apply(change), options) // a panic recurs in the whole cluster and is reported there
	return plan
}

// cheaperThan returns the reduced cluster without nodes, and with only the types that cost less than price or that a
// commitment still covers.
func (r *reduced) cheaperThan(price float64) *model.Snapshot {
	if s, ok := r.below[price]; ok {
		return s
	}
	types := map[string][]*model.InstanceType{}
	for _, pool := range r.empty.Pools() {
		types[pool.Name] = slices.DeleteFunc(slices.Clone(r.empty.Types(pool.Name)), func(t *model.InstanceType) bool {
			o, ok := t.Cheapest(pool.Requirements)
			return !ok || o.Price >= price && !t.CoveredNext(r.empty.Coverage())
		})
	}
	r.below[price] = r.empty.Apply(model.Delta{Types: types})
	return r.below[price]
}

// A podKind is the pods of one node with equal requests and tolerations.
type podKind struct {
	requests    amounts
	tolerations []corev1.Toleration
}

func (k podKind) equal(other podKind) bool {
	return k.requests == other.requests && slices.EqualFunc(k.tolerations, other.tolerations, func(a, b corev1.Toleration) bool {
		return a.MatchToleration(&b)
	})
}

// destinations returns nodes that are sufficient for the candidate's pods: if all pods fit on the nodes of the cluster, they
// also fit on these. If the candidate has n pods, destinations chooses up to n nodes for each kind of pod. These are
// the first of r.nodes that hold one such pod and are not chosen for another kind. So even if each other pod uses up one node, a
// node remains for the last pod.
func (r *reduced) destinations(c *problem.Candidate) []*corev1.Node {
	var kinds []podKind
	for _, p := range c.Pods {
		k := podKind{amountsOf(p.Requests), p.Object.Spec.Tolerations}
		if !slices.ContainsFunc(kinds, k.equal) {
			kinds = append(kinds, k)
		}
	}
	var nodes []*corev1.Node
	chosen := map[*freeNode]bool{}
	for _, k := range kinds {
		left := len(c.Pods)
		for _, n := range r.nodes {
			if left == 0 || k.requests[0] > n.free[0] {
				break // the nodes after n have no more free cpu than n
			}
			if n.name == c.Node.Name || chosen[n] || !k.requests.within(n.free) {
				continue
			}
			if _, refused := model.Untolerated(k.tolerations, n.taints); !refused {
				chosen[n] = true
				nodes = append(nodes, n.object)
				left--
			}
		}
	}
	return nodes
}

// unconstrained reports whether the pods require nothing of a node but enough of the usual resources and tolerated taints.
// Such pods have no node selector, affinity, spread constraint, volume claim, resource claim or device, and their
// containers have no host port. Host ports of init containers and in-tree volumes are not checked.
func unconstrained(pods []*model.Pod) bool {
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
