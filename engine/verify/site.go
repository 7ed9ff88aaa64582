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
	shape  *shape       // if it is
	types  []*model.InstanceType
	taints []corev1.Taint
	// stay are the pods that run there already, come the ones that the plan puts there.
	stay, come []*corev1.Pod
	domains    map[string][]string
}

// sites returns all nodes that the plan leaves or makes.
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
		st := &site{name: n.Name, come: come[n.Name], domains: make(map[string][]string)}
		if launched(n) {
			st.node, st.taints = c.nodeOf(n), taintsOf(n)
		} else {
			st.shape, st.types = c.shapeOfClaim(n.Claim), c.wished(n)
			st.taints = st.shape.taints
		}
		if n.Object != nil {
			st.stay = slices.Clone(c.bound[n.Object.Name])
			st.stay = slices.DeleteFunc(st.stay, func(p *corev1.Pod) bool { return moved[p] })
		}
		out = append(out, st)
	}
	for i := range c.plan.Nodes {
		n := &c.plan.Nodes[i]
		if n.Pool == nil || n.Pool.Object == nil {
			continue
		}
		st := &site{name: c.nameOf(i), shape: c.shapeOf(n), types: n.Options, domains: make(map[string][]string)}
		st.taints = st.shape.taints
		for _, p := range n.Pods {
			st.come = append(st.come, p.Object)
		}
		out = append(out, st)
	}
	return out
}

// domain returns the values that the label may have on the node; none if it lacks the
// label. Every node has a host name of its own.
func (c *checker) domain(st *site, key string) []string {
	if known, ok := st.domains[key]; ok {
		return known
	}
	values := c.domainOf(st, key)
	st.domains[key] = values
	return values
}

func (c *checker) domainOf(st *site, key string) []string {
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
	if stable, ok := c.places.aliases[key]; ok {
		key = stable
	}
	at, ok := slices.BinarySearch(st.shape.keys, key)
	if !ok {
		return nil
	}
	values := make(map[string]bool)
	for _, t := range st.types {
		for _, fate := range c.optionOf(st.shape, t).fates {
			for _, cand := range fate[at] {
				if !cand.missing {
					values[cand.value] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(values))
}

// takes reports whether the labels of the node suit a pod with selector s, whatever it
// becomes.
func (c *checker) takes(st *site, s *selector) bool {
	if st.node != nil {
		return s.matches(st.node)
	}
	for _, t := range st.types {
		for _, p := range c.optionOf(st.shape, t).places {
			if !p.takes(s) {
				return false
			}
		}
	}
	return true
}

// unsure returns a violation if a label that must be known has several values.
func unsure(rule Rule, st *site, pod *corev1.Pod, key string, values []string) (Violation, bool) {
	v := Violation{Rule: rule, Node: st.name, Pod: pod.Namespace + "/" + pod.Name}
	switch len(values) {
	case 1:
		return Violation{}, false
	case 0:
		v.Detail = "the node has no label " + key
	default:
		v.Detail = fmt.Sprintf("%s may become any of %q", key, values)
	}
	return v, true
}
