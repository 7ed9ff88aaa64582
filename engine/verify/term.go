package verify

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// A term is what a pod's affinity, anti-affinity or spread looks at: the pods that a
// selector matches, in domains that are nodes with one value of a label.
type term struct {
	text       string // the same for equal terms
	key        string // of the domains
	selector   labels.Selector
	namespaces []string
	everywhere bool // in all namespaces
}

// matches reports whether the term looks at pod.
func (t *term) matches(pod *corev1.Pod) bool {
	return (t.everywhere || slices.Contains(t.namespaces, pod.Namespace)) &&
		t.selector.Matches(labels.Set(pod.Labels))
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
	selector, err := metav1.LabelSelectorAsSelector(full)
	if err != nil {
		selector = labels.Nothing()
	}
	return &term{key: key, selector: selector, namespaces: []string{pod.Namespace}}
}

// finish returns t with its text.
func (t *term) finish() *term {
	t.text = fmt.Sprintf("%s %q %t %s", t.key, t.namespaces, t.everywhere, t.selector)
	return t
}

// affinityTerms returns the terms, as pod means them. Namespaces chosen by their labels
// are not known here: unless all are, such a term looks at the ones that it lists.
func affinityTerms(pod *corev1.Pod, terms []corev1.PodAffinityTerm) []*term {
	out := make([]*term, 0, len(terms))
	for _, a := range terms {
		t := newTerm(pod, a.TopologyKey, a.LabelSelector, a.MatchLabelKeys, a.MismatchLabelKeys)
		if len(a.Namespaces) > 0 || a.NamespaceSelector != nil {
			t.namespaces = a.Namespaces
		}
		if s := a.NamespaceSelector; s != nil && len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
			t.everywhere = true
		}
		out = append(out, t.finish())
	}
	return out
}

// affinityOf returns the required affinity terms of pod.
func affinityOf(pod *corev1.Pod) []*term {
	if a := pod.Spec.Affinity; a != nil && a.PodAffinity != nil {
		return affinityTerms(pod, a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
	}
	return nil
}

// antiAffinityOf returns the required anti-affinity terms of pod.
func antiAffinityOf(pod *corev1.Pod) []*term {
	if a := pod.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		return affinityTerms(pod, a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
	}
	return nil
}

// A spread is a topology spread constraint that must hold.
type spread struct {
	*term
	maxSkew, minDomains int
	honorAffinity       bool
	honorTaints         bool
}

// spreadsOf returns the spread constraints of pod that must hold.
func spreadsOf(pod *corev1.Pod) []spread {
	var out []spread
	for _, c := range pod.Spec.TopologySpreadConstraints {
		if c.WhenUnsatisfiable != corev1.DoNotSchedule {
			continue
		}
		s := spread{
			term:          newTerm(pod, c.TopologyKey, c.LabelSelector, c.MatchLabelKeys, nil).finish(),
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
