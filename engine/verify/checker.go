package verify

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/verify/podtopology"
)

// Rules are the settings outside the snapshot that affect where pods may run. The zero value is a cluster without
// labels of a cloud provider and without default spread constraints.
type Rules struct {
	// Labels are the labels of the cloud provider, in addition to those of Kubernetes.
	Labels apiv1.LabelRules
	// DefaultSpread returns kube-scheduler's default spread constraints of a pod that has none of its own. Nil means
	// that there are none.
	DefaultSpread func(*model.Pod) []corev1.TopologySpreadConstraint
}

// Plan is Rules.Plan with label rules only.
func Plan(s *model.Snapshot, p *model.Plan, labels ...apiv1.LabelRules) []Violation {
	return Rules{Labels: apiv1.LabelRules{}.With(labels...)}.Plan(s, p)
}

// Plan returns the violations of plan p, which was made from s, in the order of the checks. If a node breaks a rule with
// several types, only the first is reported.
func (r Rules) Plan(s *model.Snapshot, p *model.Plan) []Violation { return r.plan(s, p, nil) }

// plan is Plan for a snapshot without the removed nodes, which count against limits until they are gone.
func (r Rules) plan(s *model.Snapshot, p *model.Plan, removed []*model.Node) []Violation {
	c := newChecker(s, p, r)
	c.removed = removed
	c.readPods(r.DefaultSpread)
	c.account()
	c.placements()
	for i := range p.Nodes {
		c.planned(i)
	}
	c.exclusiveClaims()
	c.podTopology()
	c.limits()
	c.reservations()
	checkCommitments(c)
	c.price()
	return c.found
}

// A checker checks one plan. It holds the input, derived values, and the violations found so far.
type checker struct {
	snapshot *model.Snapshot
	plan     *model.Plan
	catalog  *catalog
	// removed are nodes that are not in the snapshot and count against limits.
	removed []*model.Node
	// rules are the affinity, anti-affinity and spread constraints of all pods.
	rules *podtopology.Rules
	// bound are the bound pods that use resources, by node name.
	bound map[string][]*corev1.Pod
	// placed are the pods that the plan places on existing nodes and claims, by the name of the node.
	placed map[string][]*model.Pod
	// demands are the demands of the pods that the plan places.
	demands map[*corev1.Pod]*demand

	position map[string]int // position of each planned node from 1, by name
	found    []Violation
	seen     map[Violation]bool // reported violations: only rule, node, pod and pool
}

// newChecker returns a checker that has read the DaemonSets of the snapshot, but not its pods.
func newChecker(s *model.Snapshot, p *model.Plan, r Rules) *checker {
	c := &checker{
		snapshot: s, plan: p, catalog: newCatalog(s, r),
		rules:    podtopology.NewRules(s.Namespaces.Values()),
		bound:    make(map[string][]*corev1.Pod),
		placed:   make(map[string][]*model.Pod),
		demands:  make(map[*corev1.Pod]*demand),
		position: make(map[string]int, len(p.Nodes)),
		seen:     make(map[Violation]bool),
	}
	for i := range p.Nodes {
		c.position[c.nameOf(i)] = i + 1
	}
	c.catalog.readDaemonSets()
	return c
}

// add reports v, unless the same rule is already reported for the node, pod and pool that it names.
func (c *checker) add(v Violation) {
	key := Violation{Rule: v.Rule, Node: v.Node, Pod: v.Pod, Pool: v.Pool}
	if v.Node+v.Pod+v.Pool != "" && c.seen[key] {
		return
	}
	c.seen[key] = true
	v.planned = c.position[v.Node]
	c.found = append(c.found, v)
}

// readPods reads the demands of the pods that the plan places, and the rules of these pods, of bound pods and of DaemonSet
// pods. It adds all label keys that they use to the index. That must precede the first label set.
func (c *checker) readPods(defaults func(*model.Pod) []corev1.TopologySpreadConstraint) {
	for _, pl := range c.plan.Placements {
		c.readPlanned(pl.Pods, defaults)
		if pl.Node != nil {
			c.placed[pl.Node.Name] = append(c.placed[pl.Node.Name], pl.Pods...)
		}
	}
	for i := range c.plan.Nodes {
		c.readPlanned(c.plan.Nodes[i].Pods, defaults)
	}
	for name, pods := range c.snapshot.EachBound() {
		for _, p := range pods {
			if p.Terminal() {
				continue
			}
			c.bound[name] = append(c.bound[name], p.Object)
			if c.demands[p.Object] == nil {
				c.rules.AddBound(p.Object)
			}
		}
	}
	for _, d := range c.catalog.daemons {
		c.rules.AddDaemon(d.pod)
	}
	c.rules.AddKeys(c.catalog.index)
}

// readPlanned reads the demands and rules of pods that the plan places.
func (c *checker) readPlanned(pods []*model.Pod, defaults func(*model.Pod) []corev1.TopologySpreadConstraint) {
	for _, p := range pods {
		spread := p.Object.Spec.TopologySpreadConstraints
		if len(spread) == 0 && defaults != nil {
			spread = defaults(p)
		}
		d := demandOf(p.Object, c.catalog.index)
		d.volumes = c.catalog.attachmentsOf(p.Object)
		c.demands[p.Object] = d
		c.rules.AddPlanned(p.Object, d.selector, spread)
	}
}

// nameOf returns the name of the i-th planned node in violations.
func (c *checker) nameOf(i int) string {
	if pool := c.plan.Nodes[i].Pool; pool != nil {
		return fmt.Sprintf("planned node %d (%s)", i, pool.Name)
	}
	return fmt.Sprintf("planned node %d", i)
}
