package verify

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/verify/nodematch"
)

// maxOptions is how many instance types a claim may list.
const maxOptions = 600

// planned checks the i-th planned node.
func (c *checker) planned(i int) {
	n := &c.plan.Nodes[i]
	name := c.nameOf(i)
	if !c.usable(name, n.Pool) {
		return
	}
	t := c.catalog.templateOf(n)
	load := c.loadOf(name, n.Pods, nil)
	for _, r := range load.names {
		if n.Requests[r] < load.requests[r] {
			c.add(Violation{Rule: RuleResources, Node: name, Detail: fmt.Sprintf(
				"requests %d of %s, but its pods request %d", n.Requests[r], r, load.requests[r])})
		}
	}
	c.tolerated(name, load, t.taints)
	list := c.catalog.listOf(t, n)
	for _, v := range list.problems {
		v.Node = name
		c.add(v)
	}
	if !list.holds(load) {
		for i, it := range n.Options {
			c.fits(name, it, list.options[i], load)
		}
	}
	c.labelsMatch(name, t, list, load)
	c.attachToNew(name, list, load)
	if len(list.problems) == 0 { // otherwise its problems would make prices and diversity wrong
		c.chosen(name, n, list)
		c.diversity(name, n, t)
	}
}

// usable checks that the pool is that of the snapshot and may launch nodes.
func (c *checker) usable(node string, pool *model.Pool) bool {
	bad := func(detail string) bool {
		c.add(Violation{Rule: RulePool, Node: node, Detail: detail})
		return false
	}
	if pool == nil || pool.Object == nil {
		return bad("has no pool")
	}
	known, ok := c.snapshot.Pool(pool.Name)
	switch {
	case !ok || known.Object != pool.Object:
		return bad("its pool is not in the snapshot")
	case pool.Object.DeletionTimestamp != nil:
		return bad("its pool is being deleted")
	case pool.Object.Spec.Replicas != nil:
		return bad("its pool is static")
	}
	for _, cond := range pool.Object.Status.Conditions {
		if cond.Type == "Ready" && cond.Status == "True" {
			return true
		}
	}
	return bad("its pool is not ready")
}

// A load is the sum of the demands of the pods that a plan places on one node.
type load struct {
	pods     []*demand
	requests amounts
	names    []corev1.ResourceName // resources of the summed requests, in order
	ports    *demand               // host ports of these pods and of the other pods of the node
	rules    []nodeRule            // without duplicate selectors
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

// loadOf returns the load of pods on a node that also runs the pods in others. It checks that none of the pods has a host
// port of another pod of the node, and that their volumes have no problem.
func (c *checker) loadOf(node string, pods []*model.Pod, others []*demand) *load {
	l := &load{
		requests: amounts{},
		ports:    &demand{},
	}
	for _, p := range pods {
		l.pods = append(l.pods, c.demands[p.Object])
	}
	for _, o := range others {
		l.ports.ports = append(l.ports.ports, o.ports...)
	}
	for _, d := range l.pods {
		l.requests.add(d.requests)
		if port, both := d.clash(l.ports); both {
			c.add(Violation{Rule: RulePorts, Node: node, Pod: d.key,
				Detail: fmt.Sprintf("host port %d is taken", port)})
		}
		l.ports.ports = append(l.ports.ports, d.ports...)
		l.addRule(nodeRule{d.selector, d.key, ""})
		for _, a := range d.volumes {
			if a.problem != "" {
				c.add(Violation{Rule: RuleVolumes, Node: node, Pod: d.key,
					Detail: fmt.Sprintf("its claim %s %s", a.claim, a.problem)})
			}
			l.addRule(nodeRule{a.selector, d.key, a.claim})
		}
	}
	l.names = l.requests.names()
	return l
}

// addRule adds a rule, unless it has no selector or the selector is already in the load.
func (l *load) addRule(r nodeRule) {
	same := func(o nodeRule) bool { return o.selector == r.selector }
	if r.selector != nil && !slices.ContainsFunc(l.rules, same) {
		l.rules = append(l.rules, r)
	}
}

// tolerated checks that each pod of the load tolerates the taints of the node.
func (c *checker) tolerated(node string, l *load, taints []corev1.Taint) {
	for _, d := range l.pods {
		if t, kept := d.untolerated(taints); kept {
			c.add(Violation{Rule: RuleTaints, Node: node, Pod: d.key,
				Detail: "does not tolerate " + t.ToString()})
		}
	}
}

// fits checks that the load fits on t in addition to the DaemonSets, whichever of them run on the node.
func (c *checker) fits(node string, t *model.InstanceType, o *option, l *load) {
	for _, daemons := range o.daemons {
		if detail, short := l.shortage(daemons.requests, t.Allocatable); short {
			c.add(Violation{Rule: RuleResources, Node: node, Type: t.Name, Detail: detail})
		}
		if port, both := daemons.clash(l.ports); both {
			c.add(Violation{Rule: RulePorts, Node: node, Type: t.Name,
				Detail: fmt.Sprintf("a pod and a DaemonSet have host port %d", port)})
		}
	}
}

// labelsMatch checks that the selectors of the load match every label set that the node may have.
func (c *checker) labelsMatch(node string, t *template, list *optionList, l *load) {
	if len(l.rules) == 0 {
		return
	}
	if list.labels == nil {
		list.labels = c.catalog.labelSets(t, list.types)
	}
	for _, r := range l.rules {
		at := slices.IndexFunc(list.labels, func(s *nodematch.LabelSet) bool { return !s.MatchedBy(r.selector) })
		if at < 0 {
			continue
		}
		i := slices.IndexFunc(list.options, func(o *option) bool { return slices.Contains(o.labels, list.labels[at]) })
		v := r.broken(list.labels[at].Labels())
		v.Node, v.Type = node, list.types[i].Name
		c.add(v)
	}
}

// shortage returns the first resource of which the pods request more than is free after the amounts in others are used. A
// request of ceiling is never met, because it stands for any larger amount.
func (l *load) shortage(others amounts, allocatable model.Resources) (string, bool) {
	for _, name := range l.names {
		want, have := l.requests[name], allocatable[name]-others[name]
		if want > 0 && want > have || want >= ceiling {
			return fmt.Sprintf("pods request %d of %s, %d is free", want, name, max(have, 0)), true
		}
	}
	return "", false
}
