package verify

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/verify/nodematch"
)

// maxOptions is how many types a claim may name.
const maxOptions = 600

// planned checks the i-th node to launch.
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
				"requests %d of %s, but its pods ask for %d", n.Requests[r], r, load.requests[r])})
		}
	}
	c.tolerated(name, load, t.taints)
	list := c.catalog.listOf(t, n)
	sound := list.sound
	if !list.sound {
		sound = c.optionList(name, n, list)
	}
	if !list.holds(load) {
		for i, it := range n.Options {
			c.fits(name, it, list.options[i], load)
		}
	}
	c.suits(name, t, list, load)
	c.attachesAll(name, list, load)
	if sound { // else prices and diversity are off for that reason
		c.chosen(name, n, list)
		c.diversity(name, n, t)
	}
}

// usable checks that pool may launch nodes for pods, and is the one in the snapshot.
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

// A load is what the pods planned for one node ask for together.
type load struct {
	pods     []*demand
	requests amounts
	names    []corev1.ResourceName // of requests, in order
	ports    *demand               // all host ports
	wishes   []wish                // each once
}

// A wish is what a pod, or a volume of it, asks of the labels of its node.
type wish struct {
	selector *nodematch.Selector
	pod      string
	claim    string // of the volume; empty for the pod's own
}

// broken says that nodes which look like this do not meet w.
func (w wish) broken(labels map[string]string) Violation {
	if w.claim == "" {
		return Violation{Rule: RuleLabels, Pod: w.pod,
			Detail: fmt.Sprintf("its node selector or affinity does not match %v", labels)}
	}
	return Violation{Rule: RuleVolumes, Pod: w.pod,
		Detail: fmt.Sprintf("the volume of claim %s cannot be reached from %v", w.claim, labels)}
}

// loadOf sums up pods that come to a node where others are, and checks that no two of
// them claim one host port.
func (c *checker) loadOf(node string, pods []*model.Pod, others []*demand) *load {
	l := &load{
		pods:     c.demandsOf(pods),
		requests: amounts{},
		ports:    &demand{},
	}
	for _, o := range others {
		l.ports.ports = append(l.ports.ports, o.ports...)
	}
	for _, d := range l.pods {
		l.requests.add(d.requests)
		if port, both := d.clash(l.ports); both {
			c.add(Violation{Rule: RulePorts, Node: node, Pod: d.key,
				Detail: fmt.Sprintf("wants host port %d, which is taken", port)})
		}
		l.ports.ports = append(l.ports.ports, d.ports...)
		l.wish(wish{d.selector, d.key, ""})
		for _, a := range d.volumes {
			if a.problem != "" {
				c.add(Violation{Rule: RuleVolumes, Node: node, Pod: d.key,
					Detail: fmt.Sprintf("its claim %s %s", a.claim, a.problem)})
			}
			l.wish(wish{a.selector, d.key, a.claim})
		}
	}
	l.names = l.requests.names()
	return l
}

// wish adds w, unless it asks nothing or the same is wished already.
func (l *load) wish(w wish) {
	same := func(o wish) bool { return o.selector == w.selector }
	if w.selector != nil && !slices.ContainsFunc(l.wishes, same) {
		l.wishes = append(l.wishes, w)
	}
}

// tolerated checks the taints of a node against each pod.
func (c *checker) tolerated(node string, l *load, taints []corev1.Taint) {
	for _, d := range l.pods {
		if t, kept := d.untolerated(taints); kept {
			c.add(Violation{Rule: RuleTaints, Node: node, Pod: d.key,
				Detail: "does not tolerate " + t.ToString()})
		}
	}
}

// fits checks that the load and the daemons fit on t, however the node turns out.
func (c *checker) fits(node string, t *model.InstanceType, o *option, l *load) {
	for _, daemons := range o.daemons {
		if detail, short := l.shortage(daemons.requests, t.Allocatable); short {
			c.add(Violation{Rule: RuleResources, Node: node, Type: t.Name, Detail: detail})
		}
		if port, both := daemons.clash(l.ports); both {
			c.add(Violation{Rule: RulePorts, Node: node, Type: t.Name,
				Detail: fmt.Sprintf("a pod and a daemon want host port %d", port)})
		}
	}
}

// suits checks that every pod may be on a node of the shape, by its labels, however it
// turns out.
func (c *checker) suits(node string, t *template, list *optionList, l *load) {
	if len(l.wishes) == 0 {
		return
	}
	if list.labels == nil {
		list.labels = c.catalog.labelSets(t, list.types)
	}
	for _, w := range l.wishes {
		at := slices.IndexFunc(list.labels, func(s *nodematch.LabelSet) bool { return !s.MatchedBy(w.selector) })
		if at < 0 {
			continue
		}
		i := slices.IndexFunc(list.options, func(o *option) bool { return slices.Contains(o.labels, list.labels[at]) })
		v := w.broken(list.labels[at].Labels())
		v.Node, v.Type = node, list.types[i].Name
		c.add(v)
	}
}

// shortage returns the first resource that the pods ask for and of which there is not
// enough for them beside what others hold. There is never enough for ceiling, which stands for any larger amount too.
func (l *load) shortage(others amounts, allocatable model.Resources) (string, bool) {
	for _, name := range l.names {
		want, have := l.requests[name], allocatable[name]-others[name]
		if want > 0 && want > have || want >= ceiling {
			return fmt.Sprintf("pods ask for %d of %s, there is %d", want, name, max(have, 0)), true
		}
	}
	return "", false
}
