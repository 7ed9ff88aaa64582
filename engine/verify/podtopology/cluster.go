package podtopology

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/karpenter-go/karpenter/engine/verify/nodematch"
)

// A class is a set of pods that the check need not distinguish: they have equal rules, and each term selects all of
// them or none.
type class struct {
	namespace string
	labels    labels.Set // the pods' values of the relevant keys
	rules     *podRules
	// selector and tolerations are the node selector and the tolerations of the pods. They are valid only if the class has
	// spread constraints and its pods are planned.
	selector    *nodematch.Selector
	tolerations []corev1.Toleration
	groups      []*group // in the order of nodes

	// Field counts has each count to which pods of the class add. Field excluding has each count of the pods with an
	// anti-affinity term that selects the class.
	counts, excluding []*count
}

// A group is the pods of one class on one node.
type group struct {
	class *class
	node  *Node
	// running is the number of pods that run on the node. lasting is how many of them are not being deleted.
	running, lasting int
	// daemons are DaemonSet pods that the node does not run yet.
	daemons []Daemon
	planned []*corev1.Pod
}

// cluster is all pods of the cluster after the plan, by class.
type cluster struct {
	rules   *Rules
	nodes   []*Node
	classes []*class
	// relevant are the pod label keys by which some rule selects.
	relevant map[string]bool
	byText   map[string]*class
	byLabel  map[string][]*class // by "key=value"
	selected map[string][]*class // by the id of a term
	found    []Violation
}

// newCluster groups all pods of the nodes by class. The presence of DaemonSets that are not in certain is set to
// Possible.
func newCluster(rules *Rules, nodes []*Node, certain map[*DaemonSet]bool) *cluster {
	c := &cluster{
		rules: rules, nodes: nodes, relevant: make(map[string]bool),
		byText: make(map[string]*class), byLabel: make(map[string][]*class), selected: make(map[string][]*class),
	}
	for _, r := range rules.byText {
		for _, t := range r.terms() {
			requirements, _ := t.selector.Requirements()
			for _, q := range requirements {
				c.relevant[q.Key()] = true
			}
		}
	}
	ofDaemonSet := make(map[*DaemonSet]*class)
	for i, n := range nodes {
		n.index, n.groups, n.domains = i, nil, make(map[string][]string)
		at := make(map[*class]*group)
		for _, p := range n.Running {
			g := n.groupOf(at, c.classOf(p, nil))
			g.running++
			if p.DeletionTimestamp == nil {
				g.lasting++
			}
		}
		for _, d := range n.Daemons {
			if ofDaemonSet[d.Set] == nil {
				ofDaemonSet[d.Set] = c.classOf(d.Set.Pod, nil)
			}
			if !certain[d.Set] {
				d.Presence = Possible
			}
			g := n.groupOf(at, ofDaemonSet[d.Set])
			g.daemons = append(g.daemons, d)
		}
		for _, p := range n.Planned {
			g := n.groupOf(at, c.classOf(p.Object, &p))
			g.planned = append(g.planned, p.Object)
		}
	}
	return c
}

func (n *Node) groupOf(at map[*class]*group, k *class) *group {
	g, ok := at[k]
	if !ok {
		g = &group{class: k, node: n}
		at[k] = g
		n.groups = append(n.groups, g)
		k.groups = append(k.groups, g)
	}
	return g
}

// classOf returns the class of the pod. planned is nil for a bound pod and for the pod of a DaemonSet.
func (c *cluster) classOf(pod *corev1.Pod, planned *Pod) *class {
	rules := c.rules.of(pod)
	var relevant []string
	for key, v := range pod.Labels {
		if c.relevant[key] {
			relevant = append(relevant, key+"="+v)
		}
	}
	slices.Sort(relevant)
	text := fmt.Sprintf("%s\n%p\n%s", pod.Namespace, rules, strings.Join(relevant, "\n"))
	if planned != nil && len(rules.spread) > 0 {
		text += fmt.Sprintf("\n%p\n%s", planned.Selector, nodematch.TolerationsText(pod.Spec.Tolerations))
	}
	k, ok := c.byText[text]
	if !ok {
		k = &class{namespace: pod.Namespace, labels: labels.Set{}, rules: rules}
		for key, v := range pod.Labels {
			if c.relevant[key] {
				k.labels[key] = v
			}
		}
		if planned != nil {
			k.selector, k.tolerations = planned.Selector, pod.Spec.Tolerations
		}
		c.byText[text] = k
		c.classes = append(c.classes, k)
		for _, label := range relevant {
			c.byLabel[label] = append(c.byLabel[label], k)
		}
	}
	return k
}

// matches reports whether the term selects the pods of the class.
func (k *class) matches(t *term) bool { return t.matches(k.namespace, k.labels) }

// selectedBy returns the classes that the term selects.
func (c *cluster) selectedBy(t *term) []*class {
	if known, ok := c.selected[t.id]; ok {
		return known
	}
	var out []*class
	for _, k := range c.candidates(t) {
		if k.matches(t) {
			out = append(out, k)
		}
	}
	c.selected[t.id] = out
	return out
}

// candidates returns a superset of the classes that the term selects: those with one of the labels of a requirement. It uses
// the requirement with the fewest classes. If no requirement lists values, it returns all classes.
func (c *cluster) candidates(t *term) []*class {
	requirements, selectable := t.selector.Requirements()
	if !selectable {
		return nil
	}
	best, found := c.classes, false
	for _, r := range requirements {
		switch r.Operator() {
		case selection.In, selection.Equals, selection.DoubleEquals:
		default:
			continue
		}
		var some []*class
		for v := range r.Values() {
			some = append(some, c.byLabel[r.Key()+"="+v]...)
		}
		if !found || len(some) < len(best) {
			best, found = some, true
		}
	}
	return best
}
