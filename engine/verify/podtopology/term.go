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
	id          string // equal for equal terms only
	topologyKey string
	selector    labels.Selector
	// The term selects pods of the listed namespaces, and of those whose labels (namespaceLabels) the selector matches.
	namespaces        []string
	namespaceSelector labels.Selector
	namespaceLabels   map[string]labels.Set
}

// matches reports whether the term selects a pod with the namespace and labels.
func (t *term) matches(namespace string, set labels.Set) bool {
	return (slices.Contains(t.namespaces, namespace) || t.namespaceSelector.Matches(t.namespaceLabels[namespace])) &&
		t.selector.Matches(set)
}

// A spreadConstraint is a topology spread constraint with whenUnsatisfiable DoNotSchedule.
type spreadConstraint struct {
	*term
	maxSkew, minDomains        int
	honorAffinity, honorTaints bool
}

// read returns the rules of the pod, without selector and tolerations. Of the spread constraints, only those with
// DoNotSchedule count.
func (rs *Rules) read(pod *corev1.Pod, spread []corev1.TopologySpreadConstraint) *podRules {
	r := &podRules{}
	affinity, antiAffinity := requiredTerms(pod)
	for _, a := range affinity {
		r.affinity = append(r.affinity, rs.newTerm(pod, a))
	}
	for _, a := range antiAffinity {
		r.antiAffinity = append(r.antiAffinity, rs.newTerm(pod, a))
	}
	for _, c := range spread {
		if c.WhenUnsatisfiable != corev1.DoNotSchedule {
			continue
		}
		s := spreadConstraint{
			term: rs.newTerm(pod, corev1.PodAffinityTerm{
				TopologyKey: c.TopologyKey, LabelSelector: c.LabelSelector, MatchLabelKeys: c.MatchLabelKeys,
			}),
			maxSkew:       int(c.MaxSkew),
			minDomains:    1,
			honorAffinity: c.NodeAffinityPolicy == nil || *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyHonor,
			honorTaints:   c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor,
		}
		if c.MinDomains != nil {
			s.minDomains = int(*c.MinDomains)
		}
		r.spread = append(r.spread, s)
	}
	return r
}

// requiredTerms returns the required affinity and anti-affinity terms of the pod.
func requiredTerms(pod *corev1.Pod) (affinity, antiAffinity []corev1.PodAffinityTerm) {
	a := pod.Spec.Affinity
	if a == nil {
		return nil, nil
	}
	if a.PodAffinity != nil {
		affinity = a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	if a.PodAntiAffinity != nil {
		antiAffinity = a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return affinity, antiAffinity
}

// newTerm returns a term of the pod. matchLabelKeys and mismatchLabelKeys add the pod's own values to the selector.
func (rs *Rules) newTerm(pod *corev1.Pod, a corev1.PodAffinityTerm) *term {
	full := a.LabelSelector.DeepCopy()
	add := func(op metav1.LabelSelectorOperator, keys []string) {
		for _, k := range keys {
			if v, ok := pod.Labels[k]; ok && full != nil {
				full.MatchExpressions = append(full.MatchExpressions,
					metav1.LabelSelectorRequirement{Key: k, Operator: op, Values: []string{v}})
			}
		}
	}
	add(metav1.LabelSelectorOpIn, a.MatchLabelKeys)
	add(metav1.LabelSelectorOpNotIn, a.MismatchLabelKeys)
	t := &term{
		topologyKey: a.TopologyKey, selector: parse(full), namespaces: a.Namespaces,
		namespaceSelector: parse(a.NamespaceSelector), namespaceLabels: rs.namespaces,
	}
	if len(a.Namespaces) == 0 && a.NamespaceSelector == nil {
		t.namespaces = []string{pod.Namespace}
	}
	t.id = fmt.Sprintf("%s %q %s %s",
		t.topologyKey, t.namespaces, selectorText(t.namespaceSelector), selectorText(t.selector))
	rs.terms[t.id] = t
	return t
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
