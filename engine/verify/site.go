package verify

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// A site is a node of the cluster as the plan would leave it.
type site struct {
	name   string
	node   *corev1.Node // nil if it is yet to be launched
	places []*place     // what it may become, if it is
	taints []corev1.Taint
	// stay are the pods that run there already, come the ones that the plan puts there.
	stay, come []*corev1.Pod
	// crew are the daemons whose pods come before those.
	crew []crewman

	index   int // among all sites
	groups  []*group
	domains map[string][]string
}

// sites returns all nodes that the plan leaves or makes. A claim of which no type is known makes none.
func (c *checker) sites() []*site {
	moved := make(map[*corev1.Pod]bool)
	come := make(map[string][]*corev1.Pod)
	for _, pl := range c.plan.Placements {
		for _, p := range pl.Pods {
			moved[p.Object] = true
			if pl.Node != nil {
				come[pl.Node.Name] = append(come[pl.Node.Name], p.Object)
			}
		}
	}
	for i := range c.plan.Nodes {
		for _, p := range c.plan.Nodes[i].Pods {
			moved[p.Object] = true
		}
	}

	var out []*site
	for _, n := range c.snapshot.Nodes() {
		if leaving(n) {
			continue
		}
		if st := c.siteOf(n, moved); st != nil {
			st.come = come[n.Name]
			out = append(out, st)
		}
	}
	for i := range c.plan.Nodes {
		n := &c.plan.Nodes[i]
		if n.Pool == nil || n.Pool.Object == nil {
			continue
		}
		sh := c.shapeOf(n)
		st := &site{name: c.nameOf(i), places: c.union(sh, n.Options), taints: sh.taints, domains: make(map[string][]string)}
		st.crew = c.crewAmong(st.places, st.taints)
		for _, p := range n.Pods {
			st.come = append(st.come, p.Object)
		}
		out = append(out, st)
	}
	for i, st := range out {
		st.index = i
	}
	c.keepOff(out)
	return out
}

// siteOf returns the site that a node is or that will come of a claim, without the pods that come; nil if none will.
func (c *checker) siteOf(n *model.Node, moved map[*corev1.Pod]bool) *site {
	st := &site{name: n.Name, domains: make(map[string][]string)}
	if launched(n) {
		st.node, st.taints = c.nodeOf(n), taintsOf(n)
	} else {
		types := c.wished(n)
		if len(types) == 0 {
			return nil
		}
		sh := c.shapeOfClaim(n.Claim)
		st.places, st.taints = c.union(sh, types), sh.taints
		st.crew = c.crewAmong(st.places, st.taints)
	}
	if n.Object != nil {
		st.stay = slices.DeleteFunc(slices.Clone(c.bound[n.Object.Name]), func(p *corev1.Pod) bool { return moved[p] })
	}
	if st.node != nil {
		st.crew = c.crewOf(st, amounts(allocatableOf(n)))
	}
	return st
}

// domain returns the values that the label may have on the node; none if it lacks the
// label. Every node has a host name of its own.
func (st *site) domain(key string) []string {
	if known, ok := st.domains[key]; ok {
		return known
	}
	values := domainOf(st, key)
	st.domains[key] = values
	return values
}

func domainOf(st *site, key string) []string {
	if st.node != nil {
		if v, ok := st.node.Labels[key]; ok {
			return []string{v}
		}
	}
	if key == corev1.LabelHostname {
		return []string{st.name}
	}
	if st.node != nil {
		return nil
	}
	values := make(map[string]bool)
	for _, p := range st.places {
		if v, ok := p.node.Labels[key]; ok {
			values[v] = true
		}
	}
	return slices.Sorted(maps.Keys(values))
}

// takes reports whether the labels of the node suit a pod with selector s, whatever it
// becomes.
func (st *site) takes(s *selector) bool {
	if st.node != nil {
		return s.matches(st.node)
	}
	return !slices.ContainsFunc(st.places, func(p *place) bool { return !p.takes(s) })
}

// unsure says that a label that must be known has several values, or none.
func unsure(rule Rule, st *site, pod *corev1.Pod, key string, values []string) Violation {
	v := Violation{Rule: rule, Node: st.name, Pod: nameOfPod(pod)}
	if len(values) == 0 {
		v.Detail = "the node has no label " + key
	} else {
		v.Detail = fmt.Sprintf("%s may become any of %q", key, values)
	}
	return v
}
