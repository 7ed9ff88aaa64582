package verify

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/verify/nodematch"
	"github.com/karpenter-go/karpenter/engine/verify/podtopology"
)

// podTopology checks affinity, anti-affinity and spread constraints in the cluster after the plan.
func (c *checker) podTopology() {
	if c.rules.Empty() {
		return
	}
	var order []*corev1.Pod
	for _, p := range c.plan.Order {
		order = append(order, p.Object)
	}
	nodes, elsewhere := c.nodesAfter()
	for _, v := range c.rules.Check(podtopology.Plan{Nodes: nodes, Order: order, Elsewhere: elsewhere}) {
		c.add(Violation{Rule: Rule(v.Rule), Node: v.Node, Pod: v.Pod, Detail: v.Detail})
	}
}

// nodesAfter returns the nodes of the cluster after the plan: existing nodes, claims that are not launched and that
// some type matches, and planned nodes. A node that is being deleted has the pods that remain on it, such as those with
// do-not-disrupt. elsewhere are the bound pods on all other nodes and on those that are being deleted, without those
// that the plan places.
func (c *checker) nodesAfter() (nodes []*podtopology.Node, elsewhere []*corev1.Pod) {
	planned := make(map[string][]podtopology.Pod)
	for _, pl := range c.plan.Placements {
		if pl.Node != nil {
			planned[pl.Node.Name] = append(planned[pl.Node.Name], c.plannedPods(pl.Pods)...)
		}
	}
	displaced := make(map[*corev1.Pod]bool)
	for _, p := range c.snapshot.Displaced() {
		displaced[p.Object] = true
	}
	others := maps.Clone(c.bound)
	for _, n := range c.snapshot.Nodes() {
		if leaving(n) {
			if n.Object != nil {
				running := slices.DeleteFunc(slices.Clone(c.bound[n.Object.Name]), func(p *corev1.Pod) bool {
					return c.demands[p] != nil || displaced[p]
				})
				nodes = append(nodes, deletingNode(n, nodematch.Of(c.catalog.nodeOf(n)), running))
			}
			continue
		}
		if out := c.existingNode(n); out != nil {
			out.Planned = planned[n.Name]
			nodes = append(nodes, out)
			delete(others, n.BindingName())
		}
	}
	for i := range c.plan.Nodes {
		n := &c.plan.Nodes[i]
		if n.Pool == nil || n.Pool.Object == nil {
			continue
		}
		t := c.catalog.templateOf(n)
		out := &podtopology.Node{
			Name: c.nameOf(i), Labels: c.catalog.labelSets(t, n.Options), Taints: t.taints, Planned: c.plannedPods(n.Pods),
		}
		out.Daemons = c.catalog.daemonsOn(out)
		nodes = append(nodes, out)
	}
	for _, pods := range others {
		for _, p := range pods {
			if c.demands[p] == nil {
				elsewhere = append(elsewhere, p)
			}
		}
	}
	return nodes, elsewhere
}

func (c *checker) plannedPods(pods []*model.Pod) []podtopology.Pod {
	out := make([]podtopology.Pod, len(pods))
	for i, p := range pods {
		out[i] = podtopology.Pod{Object: p.Object, Selector: c.demands[p.Object].selector}
	}
	return out
}

// deletingNode returns a node with the labels that is being deleted. running are the pods that remain on it.
func deletingNode(n *model.Node, labels *nodematch.LabelSet, running []*corev1.Pod) *podtopology.Node {
	return &podtopology.Node{
		Name: n.Name, Labels: []*nodematch.LabelSet{labels}, Taints: taintsOf(n), Deleting: true, Running: running,
	}
}

// existingNode returns an existing node, or the node of a claim, without planned pods. It returns nil for a claim that
// no instance type matches.
func (c *checker) existingNode(n *model.Node) *podtopology.Node {
	out := &podtopology.Node{Name: n.Name}
	for _, p := range c.bound[n.BindingName()] {
		if c.demands[p] == nil { // otherwise the plan moves it
			out.Running = append(out.Running, p)
		}
	}
	if launched(n) {
		seen := c.catalog.nodeOf(n)
		out.Labels, out.Taints = []*nodematch.LabelSet{nodematch.Of(seen)}, taintsOf(n)
		out.Daemons = c.catalog.daemonsOn(out)
		c.catalog.lowerPresence(n, out)
		return out
	}
	types := c.catalog.claimTypes(n)
	if len(types) == 0 {
		return nil
	}
	t := c.catalog.templateOfClaim(n.Claim)
	out.Labels, out.Taints = c.catalog.labelSets(t, types), t.taints
	out.Daemons = c.catalog.daemonsOn(out)
	return out
}

// lowerPresence sets the presence of DaemonSet pods on an existing node to Possible if the node lacks resources for all
// of them. It does the same for a DaemonSet pod whose host port a running pod uses.
func (c *catalog) lowerPresence(n *model.Node, out *podtopology.Node) {
	if len(out.Daemons) == 0 {
		return
	}
	_, used := c.expect(out.Labels[0], out.Taints, out.Running)
	ports := &demand{}
	for _, p := range out.Running {
		d := demandOfBound(p)
		used.add(d.requests)
		ports.ports = append(ports.ports, d.ports...)
	}
	short, allocatable := false, allocatableOf(n)
	for name, v := range used {
		short = short || v > allocatable[name]
	}
	for i := range out.Daemons {
		d := &out.Daemons[i]
		if _, conflict := demandOfBound(d.Set.Pod).clash(ports); short || conflict {
			d.Presence = podtopology.Possible
		}
	}
}
