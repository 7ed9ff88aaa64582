package verify

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/karpenter-go/karpenter/engine/model"
)

// A term is what a pod's affinity, anti-affinity or spread looks at: the pods that a
// selector matches, in domains that are nodes with one value of a label.
type term struct {
	text       string // the same for equal terms
	key        string // of the domains
	selector   labels.Selector
	namespaces []string
	chosen     map[string]bool // further namespaces, by their labels
	everywhere bool            // in all namespaces
}

// matches reports whether the term looks at a pod of that namespace with those labels.
func (t *term) matches(namespace string, set labels.Set) bool {
	return (t.everywhere || t.chosen[namespace] || slices.Contains(t.namespaces, namespace)) &&
		t.selector.Matches(set)
}

// newTerm reads a term of pod. Values of the keys in match and mismatch are the pod's
// own. A selector that cannot be read matches nothing.
func newTerm(pod *corev1.Pod, key string, by *metav1.LabelSelector, match, mismatch []string) *term {
	full := by.DeepCopy()
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
	return &term{key: key, selector: readable(full), namespaces: []string{pod.Namespace}}
}

// readable returns s as a selector. One that cannot be read matches nothing.
func readable(s *metav1.LabelSelector) labels.Selector {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return labels.Nothing()
	}
	return selector
}

// selectorText returns a text that is the same for equal selectors only: what selects nothing
// has no text of its own, and neither has what selects everything.
func selectorText(s labels.Selector) string {
	if text := s.String(); text != "" || s.Empty() {
		return text
	}
	return "nothing at all"
}

// finish returns t with its text. by is the selector of its further namespaces.
func (t *term) finish(by string) *term {
	t.text = fmt.Sprintf("%s %q %t %s %s", t.key, t.namespaces, t.everywhere, by, selectorText(t.selector))
	return t
}

// A spread is a topology spread constraint that must hold.
type spread struct {
	*term
	maxSkew, minDomains int
	honorAffinity       bool
	honorTaints         bool
}

// spreadsOf returns those of the spread constraints of pod that must hold.
func spreadsOf(pod *corev1.Pod, all []corev1.TopologySpreadConstraint) []spread {
	var out []spread
	for _, c := range all {
		if c.WhenUnsatisfiable != corev1.DoNotSchedule {
			continue
		}
		s := spread{
			term:          newTerm(pod, c.TopologyKey, c.LabelSelector, c.MatchLabelKeys, nil).finish(""),
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

// spaces finds namespaces by their labels, each selector once.
type spaces struct {
	snapshot *model.Snapshot
	known    map[string]map[string]bool
}

// matching returns the names of the namespaces that the selector matches, and its text.
func (sp *spaces) matching(by *metav1.LabelSelector) (map[string]bool, string) {
	selector := readable(by)
	text := selectorText(selector)
	names, ok := sp.known[text]
	if !ok {
		names = make(map[string]bool)
		for _, n := range sp.snapshot.Namespaces() {
			if selector.Matches(labels.Set(n.Labels)) {
				names[n.Name] = true
			}
		}
		sp.known[text] = names
	}
	return names, text
}

// terms returns affinity terms, as pod means them.
func (sp *spaces) terms(pod *corev1.Pod, list []corev1.PodAffinityTerm) []*term {
	out := make([]*term, 0, len(list))
	for _, a := range list {
		t := newTerm(pod, a.TopologyKey, a.LabelSelector, a.MatchLabelKeys, a.MismatchLabelKeys)
		if len(a.Namespaces) > 0 || a.NamespaceSelector != nil {
			t.namespaces = a.Namespaces
		}
		by := ""
		if s := a.NamespaceSelector; s != nil {
			t.everywhere = len(s.MatchLabels)+len(s.MatchExpressions) == 0
			t.chosen, by = sp.matching(s)
		}
		out = append(out, t.finish(by))
	}
	return out
}
