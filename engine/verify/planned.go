package verify

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/verify/nodematch"
)

// maxOptions is how many instance types a claim may list.
const maxOptions = 600

// planned checks the i-th planned node.
func (c *checker) planned(i int) {
	n := &c.plan.Nodes[i]
	name := c.nameOf(i)
	if detail := c.problemOf(n.Pool); detail != "" {
		c.add(Violation{Rule: RulePool, Node: name, Detail: detail})
		return
	}
	t := c.catalog.templateOf(n)
	l := c.loadOf(name, n.Pods, nil)
	if r, _, short := l.requests.Short(n.Requests); short {
		c.add(Violation{Rule: RuleResources, Node: name, Detail: fmt.Sprintf(
			"requests %d of %s, but its pods request %d", n.Requests[r], r, l.requests[r])})
	}
	list := c.catalog.listOf(t, n)
	for _, v := range list.problems {
		v.Node = name
		c.add(v)
	}
	c.suits(name, list, t.taints, l)
	if len(list.problems) == 0 { // otherwise its problems would make prices and diversity wrong
		c.chosen(name, n, list)
		c.diversity(name, n, t)
	}
}

// problemOf returns why the pool may not launch nodes, or is not that of the snapshot. It is empty if there is no problem.
func (c *checker) problemOf(pool *model.Pool) string {
	if pool == nil || pool.Object == nil {
		return "has no pool"
	}
	known, ok := c.snapshot.Pool(pool.Name)
	switch {
	case !ok || known.Object != pool.Object:
		return "its pool is not in the snapshot"
	case pool.Object.DeletionTimestamp != nil:
		return "its pool is being deleted"
	case pool.Object.Spec.Replicas != nil:
		return "its pool is static"
	case !condition.IsTrue(pool.Object, "Ready"):
		return "its pool is not ready"
	}
	return ""
}

// A load is the sum of the demands of the pods that a plan places on one node.
type load struct {
	pods     []*demand
	requests model.Resources
	names    []corev1.ResourceName  // of requests
	ports    []corev1.ContainerPort // host ports of these pods and of the other pods of the node
	rules    []nodeRule             // without duplicate selectors
}

// A nodeRule is the node selector of a pod or of one of its volumes.
type nodeRule struct {
	selector *nodematch.Selector
	pod      string
	claim    string // claim of the volume; empty if the selector is the pod's own
}

// broken returns the violation on a node whose labels the selector does not match.
func (r nodeRule) broken(labels map[string]string) Violation {
	if r.claim == "" {
		return Violation{Rule: RuleLabels, Pod: r.pod,
			Detail: fmt.Sprintf("its node selector or affinity does not match %v", labels)}
	}
	return Violation{Rule: RuleVolumes, Pod: r.pod,
		Detail: fmt.Sprintf("the volume of claim %s cannot be attached to a node with %v", r.claim, labels)}
}

// loadOf returns the load of pods on a node whose other pods have the given ports. It checks that none of the pods has a host
// port of another pod of the node, and that their volumes have no problem.
func (c *checker) loadOf(node string, pods []*model.Pod, ports []corev1.ContainerPort) *load {
	l := &load{requests: model.Resources{}, ports: ports}
	for _, p := range pods {
		d := c.demands[p.Object]
		l.pods = append(l.pods, d)
		l.requests = l.requests.Plus(d.requests)
		if port, both := clash(d.ports, l.ports); both {
			c.add(Violation{Rule: RulePorts, Node: node, Pod: d.key,
				Detail: fmt.Sprintf("host port %d is taken", port)})
		}
		l.ports = append(l.ports, d.ports...)
		l.addRule(nodeRule{d.selector, d.key, ""})
		for _, a := range d.volumes {
			if a.problem != "" {
				c.add(Violation{Rule: RuleVolumes, Node: node, Pod: d.key,
					Detail: fmt.Sprintf("its claim %s %s", a.claim, a.problem)})
			}
			l.addRule(nodeRule{a.selector, d.key, a.claim})
		}
	}
	l.names = l.requests.Names()
	return l
}

// addRule adds a rule, unless it has no selector or the selector is already in the load.
func (l *load) addRule(r nodeRule) {
	same := func(o nodeRule) bool { return o.selector == r.selector }
	if r.selector != nil && !slices.ContainsFunc(l.rules, same) {
		l.rules = append(l.rules, r)
	}
}

// suits checks that the node suits the load, whichever of the options it becomes.
func (c *checker) suits(node string, list *optionList, taints []corev1.Taint, l *load) {
	for _, d := range l.pods {
		if t, kept := model.Untolerated(d.tolerations, taints); kept {
			c.add(Violation{Rule: RuleTaints, Node: node, Pod: d.key,
				Detail: "does not tolerate " + t.ToString()})
		}
	}
	for _, o := range list.options {
		c.fits(node, o, l)
	}
	for _, r := range l.rules {
		at := slices.IndexFunc(list.labels, func(s *nodematch.LabelSet) bool { return !s.MatchedBy(r.selector) })
		if at < 0 {
			continue
		}
		i := slices.IndexFunc(list.options, func(o *option) bool { return slices.Contains(o.labels, list.labels[at]) })
		v := r.broken(list.labels[at].Labels())
		v.Node, v.Type = node, list.options[i].name
		c.add(v)
	}
	if slices.ContainsFunc(l.pods, func(d *demand) bool { return len(d.volumes) > 0 }) {
		for _, o := range list.options {
			c.attach(node, o, l)
		}
	}
}

// fits checks that the option has the resources and the host ports for the load, whichever pods are present. A request of
// model.MaxAmount is never met, because it stands for any larger amount.
func (c *checker) fits(node string, o *option, l *load) {
	for _, present := range o.present {
		for _, name := range l.names {
			want, have := l.requests[name], o.allocatable[name]-present.requests[name]
			if want > 0 && want > have || want >= model.MaxAmount {
				c.add(Violation{Rule: RuleResources, Node: node, Type: o.name,
					Detail: fmt.Sprintf("pods request %d of %s, %d is free", want, name, max(have, 0))})
			}
		}
		if port, both := clash(present.ports, l.ports); both {
			c.add(Violation{Rule: RulePorts, Node: node, Type: o.name,
				Detail: fmt.Sprintf("a pod and a DaemonSet have host port %d", port)})
		}
	}
}
