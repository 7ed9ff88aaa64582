package verify

import (
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
	for _, v := range c.rules.Check(c.nodesAfter(), c.plan.Order) {
		c.add(Violation{Rule: Rule(v.Rule), Node: v.Node, Pod: v.Pod, Detail: v.Detail})
	}
}

// nodesAfter returns the nodes of the cluster after the plan: existing nodes, claims that are not launched and that
// some type matches, and planned nodes. A node that is being deleted has the pods that remain on it, such as those with
// do-not-disrupt.
func (c *checker) nodesAfter() []*podtopology.Node {
	displaced := make(map[*corev1.Pod]bool)
	for _, p := range c.snapshot.Displaced() {
		displaced[p.Object] = true
	}
	var nodes []*podtopology.Node
	for _, n := range c.snapshot.Nodes() {
		out := &podtopology.Node{Name: n.Name, Deleting: leaving(n)}
		for _, p := range c.bound[n.BindingName()] {
			if c.demands[p] == nil && !(out.Deleting && displaced[p]) { // otherwise the plan moves it, or may move it later
				out.Running = append(out.Running, p)
			}
		}
		if !out.Deleting {
			out.Planned = c.placed[n.Name]
		}
		if c.describe(n, out) {
			nodes = append(nodes, out)
		}
	}
	for i := range c.plan.Nodes {
		n := &c.plan.Nodes[i]
		if n.Pool == nil || n.Pool.Object == nil {
			continue
		}
		t := c.catalog.templateOf(n)
		out := &podtopology.Node{
			Name: c.nameOf(i), Labels: c.catalog.listOf(t, n).labels, Taints: t.taints, Planned: n.Pods,
		}
		out.Daemons = c.catalog.daemonsOn(out)
		nodes = append(nodes, out)
	}
	return nodes
}

// describe sets the labels, taints and DaemonSet pods of an existing node, or of the node of a claim. It returns false for a
// claim that no instance type matches.
func (c *checker) describe(n *model.Node, out *podtopology.Node) bool {
	if n.Launched() {
		out.Labels, out.Taints = []*nodematch.LabelSet{nodematch.Of(c.catalog.nodeOf(n))}, taintsOf(n)
	} else {
		t := c.catalog.templateOfClaim(n.Claim)
		out.Labels, out.Taints = c.catalog.newList(t, c.catalog.claimTypes(n)).labels, t.taints
	}
	if !out.Deleting {
		out.Daemons = c.catalog.daemonsOn(out)
		c.catalog.lowerCertainty(n, out)
	}
	return len(out.Labels) > 0
}

// lowerCertainty makes DaemonSet pods on an existing node uncertain if the node lacks resources for all of them. It does the
// same for a DaemonSet pod whose host port a running pod uses.
func (c *catalog) lowerCertainty(n *model.Node, out *podtopology.Node) {
	if len(out.Daemons) == 0 || !n.Launched() {
		return
	}
	_, used := c.expect(out.Labels[0], out.Taints, out.Running)
	var ports []corev1.ContainerPort
	for _, p := range out.Running {
		used = used.Plus(requestsOf(p))
		ports = append(ports, hostPorts(p)...)
	}
	_, _, short := used.Short(n.Allocatable)
	for i := range out.Daemons {
		d := &out.Daemons[i]
		if _, conflict := clash(hostPorts(d.Pod), ports); short || conflict {
			d.Certain = false
		}
	}
}
