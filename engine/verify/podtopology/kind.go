package podtopology

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// A kind is a set of pods that the terms of rules do not distinguish: each term selects all of them or none.
type kind struct {
	namespace string
	labels    labels.Set // the pods' values of the relevant keys
	// counts has each count of the pods that a term selects, if the term selects the kind.
	counts []*count
	// excluding has each count of the pods with an anti-affinity term that selects the kind.
	excluding []*count
}

// matches reports whether each of the terms selects the pods of the kind.
func (k *kind) matches(terms ...*term) bool {
	return !slices.ContainsFunc(terms, func(t *term) bool { return !t.matches(k.namespace, k.labels) })
}

// kinds are the kinds of all pods of the cluster after the plan.
type kinds struct {
	all []*kind
	// relevant are the pod label keys by which some rule selects.
	relevant map[string]bool
	byText   map[string]*kind
	byLabel  map[string][]*kind // by "key=value"
}

func newKinds(terms map[string]*term) *kinds {
	c := &kinds{relevant: make(map[string]bool), byText: make(map[string]*kind), byLabel: make(map[string][]*kind)}
	for _, t := range terms {
		requirements, _ := t.selector.Requirements()
		for _, q := range requirements {
			c.relevant[q.Key()] = true
		}
	}
	return c
}

// of returns the kind of the pod.
func (c *kinds) of(pod *corev1.Pod) *kind {
	var relevant []string
	for key, v := range pod.Labels {
		if c.relevant[key] {
			relevant = append(relevant, key+"="+v)
		}
	}
	slices.Sort(relevant)
	text := pod.Namespace + "\n" + strings.Join(relevant, "\n")
	k, ok := c.byText[text]
	if !ok {
		k = &kind{namespace: pod.Namespace, labels: pod.Labels}
		c.byText[text] = k
		c.all = append(c.all, k)
		for _, label := range relevant {
			c.byLabel[label] = append(c.byLabel[label], k)
		}
	}
	return k
}

// selectedBy returns the kinds that each of the terms selects. If a requirement of the first term lists values, only kinds
// with one of these labels are compared. Of several such requirements, the one with the fewest kinds is used.
func (c *kinds) selectedBy(terms ...*term) []*kind {
	requirements, selectable := terms[0].selector.Requirements()
	if !selectable {
		return nil
	}
	candidates := c.all
	for _, r := range requirements {
		switch r.Operator() {
		case selection.In, selection.Equals, selection.DoubleEquals:
			var some []*kind
			for v := range r.Values() {
				some = append(some, c.byLabel[r.Key()+"="+v]...)
			}
			if len(some) <= len(candidates) {
				candidates = some
			}
		}
	}
	var out []*kind
	for _, k := range candidates {
		if k.matches(terms...) {
			out = append(out, k)
		}
	}
	return out
}
