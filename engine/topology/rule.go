package topology

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// A Kind is the kind of a rule.
type Kind uint8

// The kinds of rules.
const (
	Spread       Kind = iota // no domain has more than MaxSkew pods more than the domain with the fewest
	Affinity                 // affinity: the term selects a pod in the domain
	AntiAffinity             // anti-affinity: the term selects no pod in the domain
)

// A Rule is a constraint of one pod about the pods that a term selects.
type Rule struct {
	Kind Kind
	Term *Term
	// Soft rules are preferences. Weight is that of a preferred affinity term, 1 to 100, and 0 for all other rules.
	Soft   bool
	Weight int32
	// Self is true if the term selects the pod itself.
	Self bool

	// For Spread: MaxSkew is at least 1. With fewer than MinDomains domains, the minimum over the domains counts as
	// zero.
	MaxSkew, MinDomains int
	// For Spread: HonorAffinity counts only nodes that match the pod's node selector and affinity, HonorTaints only
	// nodes whose taints it tolerates.
	HonorAffinity, HonorTaints bool
}

// Namespaces returns the sorted names of the namespaces whose labels the selector matches.
type Namespaces func(labels.Selector) []string

// Of returns the rules of a pod: required ones first, then preferences, each in the order of the spec. defaults are the
// spread constraints of a pod that has none of its own.
func Of(pod *corev1.Pod, namespaces Namespaces, defaults []corev1.TopologySpreadConstraint) []Rule {
	var rules, soft []Rule
	spread := pod.Spec.TopologySpreadConstraints
	if len(spread) == 0 {
		spread = defaults
	}
	for i := range spread {
		if r := spreadRule(pod, &spread[i]); r.Soft {
			soft = append(soft, r)
		} else {
			rules = append(rules, r)
		}
	}
	r := reader{pod: pod, namespaces: namespaces}
	if a := pod.Spec.Affinity; a != nil && a.PodAffinity != nil {
		rules = append(rules, r.affinity(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution)...)
		soft = append(soft, r.preferred(Affinity, a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution)...)
	}
	if a := pod.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		for _, t := range AntiAffinityTerms(pod, namespaces) {
			rules = append(rules, Rule{Kind: AntiAffinity, Term: t})
		}
		soft = append(soft, r.preferred(AntiAffinity, a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)...)
	}
	rules = append(rules, soft...)
	for i := range rules {
		rules[i].Self = rules[i].Term.Selects(pod.Namespace, pod.Labels)
	}
	return rules
}

// RequiredAntiAffinity returns the required anti-affinity terms of a pod. It does not allocate.
func RequiredAntiAffinity(pod *corev1.Pod) []corev1.PodAffinityTerm {
	if a := pod.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		return a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return nil
}

// AntiAffinityTerms returns the terms of a pod's required anti-affinity. A pod that such a term selects must not be in the same
// domain.
func AntiAffinityTerms(pod *corev1.Pod, namespaces Namespaces) []*Term {
	r := reader{pod: pod, namespaces: namespaces}
	var terms []*Term
	list := RequiredAntiAffinity(pod)
	for i := range list {
		terms = append(terms, newTerm(list[i].TopologyKey, r.pick(&list[i])))
	}
	return terms
}

func spreadRule(pod *corev1.Pod, c *corev1.TopologySpreadConstraint) Rule {
	selector := selectorFor(pod, c.LabelSelector, c.MatchLabelKeys, nil)
	r := Rule{
		Kind: Spread, Soft: c.WhenUnsatisfiable == corev1.ScheduleAnyway,
		Term:          newTerm(c.TopologyKey, pick{namespaces: []string{pod.Namespace}, selector: selector}),
		MaxSkew:       max(int(c.MaxSkew), 1),
		HonorAffinity: c.NodeAffinityPolicy == nil || *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyHonor,
		HonorTaints:   c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor,
	}
	if c.MinDomains != nil {
		r.MinDomains = int(*c.MinDomains)
	}
	return r
}

// A reader turns the affinity terms of one pod into rules.
type reader struct {
	pod        *corev1.Pod
	namespaces Namespaces
}

// affinity returns the rules of required affinity. kube-scheduler counts only pods that match all terms, so the Term of
// each rule has the conditions of all.
func (r *reader) affinity(terms []corev1.PodAffinityTerm) []Rule {
	picks := make([]pick, len(terms))
	for i := range terms {
		picks[i] = r.pick(&terms[i])
	}
	var rules []Rule
	for i := range terms {
		rules = append(rules, Rule{Kind: Affinity, Term: newTerm(terms[i].TopologyKey, picks...)})
	}
	return rules
}

func (r *reader) preferred(kind Kind, terms []corev1.WeightedPodAffinityTerm) []Rule {
	var rules []Rule
	for i := range terms {
		t := &terms[i].PodAffinityTerm
		rules = append(rules, Rule{Kind: kind, Term: newTerm(t.TopologyKey, r.pick(t)), Soft: true, Weight: terms[i].Weight})
	}
	return rules
}

// pick returns the condition of one affinity term. Without namespaces and namespaceSelector, it selects in the pod's
// own namespace. An empty namespaceSelector selects all namespaces.
func (r *reader) pick(t *corev1.PodAffinityTerm) pick {
	p := pick{selector: selectorFor(r.pod, t.LabelSelector, t.MatchLabelKeys, t.MismatchLabelKeys)}
	p.namespaces = slices.Clone(t.Namespaces)
	switch s := t.NamespaceSelector; {
	case s == nil && len(p.namespaces) == 0:
		p.namespaces = []string{r.pod.Namespace}
	case s == nil:
	case len(s.MatchLabels)+len(s.MatchExpressions) == 0:
		p.everywhere = true
	default:
		if selector, err := metav1.LabelSelectorAsSelector(s); err == nil && r.namespaces != nil {
			p.namespaces = append(p.namespaces, r.namespaces(selector)...)
		}
	}
	slices.Sort(p.namespaces)
	p.namespaces = slices.Compact(p.namespaces)
	return p
}
