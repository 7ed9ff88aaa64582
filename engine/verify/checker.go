package verify

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Rules are what decides where pods may go and is no object of the snapshot. The zero
// value is a cluster of the plainest kind.
type Rules struct {
	// Labels are the label facts of the cloud, beside those of Kubernetes.
	Labels apiv1.LabelRules
	// DefaultSpread returns the spread constraints that the scheduler gives to a pod
	// without any of its own; nil means that there are none.
	DefaultSpread func(*model.Pod) []corev1.TopologySpreadConstraint
}

// Plan is Rules.Plan where labels are all that is to be said.
func Plan(s *model.Snapshot, p *model.Plan, labels ...apiv1.LabelRules) []Violation {
	return Rules{Labels: apiv1.LabelRules{}.With(labels...)}.Plan(s, p)
}

// Plan returns every promise that p breaks, given that it was made from s, in the
// order of the plan. A node that breaks one rule in many ways, because each of its
// types does, is reported once for it.
func (r Rules) Plan(s *model.Snapshot, p *model.Plan) []Violation {
	c := &checker{
		snapshot: s,
		plan:     p,
		manners:  newManners(s, r.DefaultSpread),
		demands:  make(map[*corev1.Pod]*demand),
		places:   newPlaces(apiv1.CoreLabels().With(r.Labels).Aliases),
		shapes:   make(map[string]*shape),
		facts:    make(map[string]map[*model.InstanceType]*facts),
		types:    make(map[string]map[string]*model.InstanceType),
		together: make(map[string]*demand),
		menus:    make(map[menuKey]*menu),
		bound:    make(map[string][]*corev1.Pod),
		seen:     make(map[Violation]bool),
	}
	for _, d := range s.Daemons() {
		if d.Object.DeletionTimestamp == nil {
			pod := c.places.demandOfDaemon(d.Object)
			if !c.fitsSomewhere(pod.requests) {
				continue // it runs nowhere
			}
			c.sets = append(c.sets, d.Object)
			pod.volumes = slices.DeleteFunc(c.volumesOf(d.Pod.Object), func(a *attachment) bool { return a.problem != "" })
			c.daemons = append(c.daemons, pod)
		}
	}
	c.learn()
	c.account()
	c.placements()
	for i := range p.Nodes {
		c.planned(i)
	}
	c.users()
	c.neighbours()
	c.limits()
	c.reservations()
	c.price()
	return c.found
}

// fitsSomewhere reports whether an empty node of some type, or a node that is there were it
// empty, has as much of everything.
func (c *checker) fitsSomewhere(requests amounts) bool {
	within := func(have model.Resources) bool {
		for name, v := range requests {
			if v > 0 && v > have[name] {
				return false
			}
		}
		return true
	}
	for _, pool := range c.snapshot.Pools() {
		for _, t := range c.snapshot.Types(pool.Name) {
			if within(t.Allocatable) {
				return true
			}
		}
	}
	return slices.ContainsFunc(c.snapshot.Nodes(), func(n *model.Node) bool { return within(allocatableOf(n)) })
}

// A checker holds what one check knows and has found.
type checker struct {
	snapshot *model.Snapshot
	plan     *model.Plan

	// sets are the DaemonSets in key order, daemons what the pod of each asks for.
	sets    []*appsv1.DaemonSet
	daemons []*demand
	// hands are those of them that matter to pods.
	hands []*hand

	// bound are the pods that hold resources, by the name of their node.
	bound   map[string][]*corev1.Pod
	manners *manners

	demands  map[*corev1.Pod]*demand
	places   *places
	shapes   map[string]*shape                         // by pool and requirements
	facts    map[string]map[*model.InstanceType]*facts // by keys
	unions   int                                       // how many were made
	types    map[string]map[string]*model.InstanceType // by pool and name
	together map[string]*demand                        // sums of daemons, by their keys
	menus    map[menuKey]*menu
	// seenLimits are the fewest volumes that nodes of a type attach, by type and driver; nil until asked for.
	seenLimits map[string]map[string]int

	position map[string]int // see positions
	found    []Violation
	seen     map[Violation]bool // without type and detail
}

// add reports v with the position of its planned node, unless the same node and pod have broken the same rule before.
func (c *checker) add(v Violation) {
	key := Violation{Rule: v.Rule, Node: v.Node, Pod: v.Pod}
	if (v.Node != "" || v.Pod != "") && c.seen[key] {
		return
	}
	c.seen[key] = true
	v.planned = c.positions()[v.Node]
	c.found = append(c.found, v)
}

// learn reads all pods, so that it is known which labels matter before any node is
// looked at.
func (c *checker) learn() {
	for _, pl := range c.plan.Placements {
		c.demandsOf(pl.Pods)
	}
	for i := range c.plan.Nodes {
		c.demandsOf(c.plan.Nodes[i].Pods)
	}
	for pod := range c.demands {
		c.manners.of(pod)
	}
	for _, p := range c.snapshot.Pods() {
		if on := p.Object.Spec.NodeName; on != "" && !ended(p.Object) {
			c.bound[on] = append(c.bound[on], p.Object)
			c.manners.of(p.Object)
		}
	}
	c.learnHands()
	c.heeded()
	for _, m := range c.manners.byText {
		for _, t := range m.terms() {
			c.places.look(t.key)
		}
	}
}

// demandsOf returns the demands of pods, each read once.
func (c *checker) demandsOf(pods []*model.Pod) []*demand {
	out := make([]*demand, len(pods))
	for i, p := range pods {
		d, ok := c.demands[p.Object]
		if !ok {
			d = c.places.demandOf(p.Object)
			d.volumes = c.volumesOf(p.Object)
			c.demands[p.Object] = d
			c.manners.expect(p)
		}
		out[i] = d
	}
	return out
}

// positions returns the positions of planned nodes by their names, counted from one.
func (c *checker) positions() map[string]int {
	if c.position == nil {
		c.position = make(map[string]int, len(c.plan.Nodes))
		for i := range c.plan.Nodes {
			c.position[c.nameOf(i)] = i + 1
		}
	}
	return c.position
}

// nameOf names the i-th planned node.
func (c *checker) nameOf(i int) string {
	if pool := c.plan.Nodes[i].Pool; pool != nil {
		return fmt.Sprintf("planned node %d (%s)", i, pool.Name)
	}
	return fmt.Sprintf("planned node %d", i)
}
