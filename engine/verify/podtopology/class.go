package podtopology

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// A class is a set of pods that the check need not distinguish: they have equal rules, and each term selects all of
// them or none.
type class struct {
	namespace string
	labels    labels.Set // the pods' values of the relevant keys
	rules     *podRules
	groups    []*group // in the order of nodes

	// counts has each count to which pods of the class add.
	counts []*count
	// excluding has each count of the pods with an anti-affinity term that selects the class.
	excluding []*count
	// The fields below are set only if the plan places pods of the class. limits has a count for each spread constraint,
	// avoids for each anti-affinity term. needs has a count for each affinity term, in the domains of the term. It counts the
	// pods that all affinity terms of the class select. selectsItself is true if these terms also select the class.
	limits, avoids, needs []*count
	selectsItself         bool
}

// matches reports whether the term selects the pods of the class.
func (k *class) matches(t *term) bool { return t.matches(k.namespace, k.labels) }

// matchesAll reports whether each of the terms selects the pods of the class.
func (k *class) matchesAll(terms []*term) bool {
	return !slices.ContainsFunc(terms, func(t *term) bool { return !k.matches(t) })
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
	next    int // number of planned pods that are placed or refused
}

// classes are the classes of all pods of the cluster after the plan.
type classes struct {
	rules *Rules
	all   []*class
	// relevant are the pod label keys by which some rule selects.
	relevant map[string]bool
	byKey    map[classKey]*class
	byLabel  map[string][]*class // by "key=value"
}

// A classKey is equal for pods of one class only. labels are the sorted relevant labels, one in a line.
type classKey struct {
	namespace string
	rules     *podRules
	labels    string
}

func newClasses(rules *Rules) *classes {
	c := &classes{
		rules: rules, relevant: make(map[string]bool),
		byKey: make(map[classKey]*class), byLabel: make(map[string][]*class),
	}
	for _, t := range rules.terms {
		requirements, _ := t.selector.Requirements()
		for _, q := range requirements {
			c.relevant[q.Key()] = true
		}
	}
	return c
}

// of returns the class of the pod.
func (c *classes) of(pod *corev1.Pod) *class {
	rules := c.rules.of(pod)
	var relevant []string
	for key, v := range pod.Labels {
		if c.relevant[key] {
			relevant = append(relevant, key+"="+v)
		}
	}
	slices.Sort(relevant)
	key := classKey{pod.Namespace, rules, strings.Join(relevant, "\n")}
	k, ok := c.byKey[key]
	if !ok {
		k = &class{namespace: pod.Namespace, labels: pod.Labels, rules: rules}
		c.byKey[key] = k
		c.all = append(c.all, k)
		for _, label := range relevant {
			c.byLabel[label] = append(c.byLabel[label], k)
		}
	}
	return k
}

// groupsOf returns the groups of the pods on the node. The Daemons of a group are not certain if rules about other pods may
// exclude them.
func (c *classes) groupsOf(n *Node) []*group {
	var groups []*group
	at := make(map[*class]*group)
	groupOf := func(pod *corev1.Pod) *group {
		k := c.of(pod)
		if at[k] == nil {
			at[k] = &group{class: k, node: n}
			groups, k.groups = append(groups, at[k]), append(k.groups, at[k])
		}
		return at[k]
	}
	for _, p := range n.Running {
		g := groupOf(p)
		g.running++
		if p.DeletionTimestamp == nil {
			g.lasting++
		}
	}
	for _, d := range n.Daemons {
		d.Certain = d.Certain && !c.rules.mayExclude(d.Pod)
		g := groupOf(d.Pod)
		g.daemons = append(g.daemons, d)
	}
	for _, p := range n.Planned {
		g := groupOf(p.Object)
		g.planned = append(g.planned, p.Object)
	}
	return groups
}

// selectedBy returns the classes that the term selects. If a requirement of the term lists values, only classes with one of
// these labels are compared. Of several such requirements, the one with the fewest classes is used.
func (c *classes) selectedBy(t *term) []*class {
	requirements, selectable := t.selector.Requirements()
	if !selectable {
		return nil
	}
	candidates := c.all
	for _, r := range requirements {
		switch r.Operator() {
		case selection.In, selection.Equals, selection.DoubleEquals:
			var some []*class
			for v := range r.Values() {
				some = append(some, c.byLabel[r.Key()+"="+v]...)
			}
			if len(some) <= len(candidates) {
				candidates = some
			}
		}
	}
	var out []*class
	for _, k := range candidates {
		if k.matches(t) {
			out = append(out, k)
		}
	}
	return out
}
