package podtopology

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// A term selects pods by namespace and labels. Its topologyKey divides nodes into domains by a node label.
type term struct {
	id            string // equal for equal terms
	topologyKey   string
	selector      labels.Selector
	namespaces    []string
	selectedByNS  map[string]bool // namespaces that the namespaceSelector matches
	allNamespaces bool
}

// matches reports whether the term selects a pod with the namespace and labels.
func (t *term) matches(namespace string, set labels.Set) bool {
	return (t.allNamespaces || t.selectedByNS[namespace] || slices.Contains(t.namespaces, namespace)) &&
		t.selector.Matches(set)
}

// newTerm returns a term of the pod. matchLabelKeys and mismatchLabelKeys add the pod's own values to the selector.
func newTerm(pod *corev1.Pod, key string, selector *metav1.LabelSelector, match, mismatch []string) *term {
	full := selector.DeepCopy()
	add := func(op metav1.LabelSelectorOperator, keys []string) {
		for _, k := range keys {
			v, ok := pod.Labels[k]
			if !ok || full == nil {
				continue
			}
			full.MatchExpressions = append(full.MatchExpressions,
				metav1.LabelSelectorRequirement{Key: k, Operator: op, Values: []string{v}})
		}
	}
	add(metav1.LabelSelectorOpIn, match)
	add(metav1.LabelSelectorOpNotIn, mismatch)
	return &term{topologyKey: key, selector: parse(full), namespaces: []string{pod.Namespace}}
}

// parse returns the selector. A missing or invalid one selects nothing.
func parse(s *metav1.LabelSelector) labels.Selector {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return labels.Nothing()
	}
	return selector
}

// selectorText returns a text that is equal for equal selectors only. The String of a selector is empty both for all
// pods and for none.
func selectorText(s labels.Selector) string {
	if text := s.String(); text != "" || s.Empty() {
		return text
	}
	return "no pod"
}

// withID sets the id of t and returns t. namespaceSelector is the text of its namespaceSelector.
func (t *term) withID(namespaceSelector string) *term {
	t.id = fmt.Sprintf("%s %q %t %s %s", t.topologyKey, t.namespaces, t.allNamespaces, namespaceSelector, selectorText(t.selector))
	return t
}

// A spreadConstraint is a topology spread constraint with whenUnsatisfiable DoNotSchedule.
type spreadConstraint struct {
	*term
	maxSkew, minDomains        int
	honorAffinity, honorTaints bool
}

// spreadConstraints returns the constraints with DoNotSchedule as constraints of the pod.
func spreadConstraints(pod *corev1.Pod, all []corev1.TopologySpreadConstraint) []spreadConstraint {
	var out []spreadConstraint
	for _, c := range all {
		if c.WhenUnsatisfiable != corev1.DoNotSchedule {
			continue
		}
		s := spreadConstraint{
			term:          newTerm(pod, c.TopologyKey, c.LabelSelector, c.MatchLabelKeys, nil).withID(""),
			maxSkew:       int(c.MaxSkew),
			minDomains:    1,
			honorAffinity: c.NodeAffinityPolicy == nil || *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyHonor,
			honorTaints:   c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor,
		}
		if c.MinDomains != nil {
			s.minDomains = int(*c.MinDomains)
		}
		out = append(out, s)
	}
	return out
}

// A namespaceIndex finds namespaces by their labels. Each selector is evaluated once.
type namespaceIndex struct {
	all   []*corev1.Namespace
	known map[string]map[string]bool
}

// matching returns the names of the namespaces that the selector matches, and the text of the selector.
func (x *namespaceIndex) matching(namespaceSelector *metav1.LabelSelector) (map[string]bool, string) {
	selector := parse(namespaceSelector)
	text := selectorText(selector)
	names, ok := x.known[text]
	if !ok {
		names = make(map[string]bool)
		for _, n := range x.all {
			if selector.Matches(labels.Set(n.Labels)) {
				names[n.Name] = true
			}
		}
		x.known[text] = names
	}
	return names, text
}

// affinityTerms returns the terms of the pod's affinity or anti-affinity.
func (x *namespaceIndex) affinityTerms(pod *corev1.Pod, list []corev1.PodAffinityTerm) []*term {
	out := make([]*term, 0, len(list))
	for _, a := range list {
		t := newTerm(pod, a.TopologyKey, a.LabelSelector, a.MatchLabelKeys, a.MismatchLabelKeys)
		if len(a.Namespaces) > 0 || a.NamespaceSelector != nil {
			t.namespaces = a.Namespaces
		}
		text := ""
		if s := a.NamespaceSelector; s != nil {
			t.allNamespaces = len(s.MatchLabels)+len(s.MatchExpressions) == 0
			t.selectedByNS, text = x.matching(s)
		}
		out = append(out, t.withID(text))
	}
	return out
}
