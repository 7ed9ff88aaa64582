package podtopology

import (
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// podRules are the required affinity, anti-affinity and spread constraints of a pod. Pods with equal rules share one
// value.
type podRules struct {
	// affinity are the terms of required pod affinity. As in kube-scheduler, only pods that all terms select count.
	affinity   []*term
	affinityID string
	// antiAffinity are the terms of required pod anti-affinity. Each term must be met separately.
	antiAffinity []*term
	spread       []spreadConstraint
}

// none reports whether the pod has no rules.
func (r *podRules) none() bool { return len(r.affinity)+len(r.antiAffinity)+len(r.spread) == 0 }

// terms returns the terms of all rules.
func (r *podRules) terms() []*term {
	out := append(append([]*term{}, r.affinity...), r.antiAffinity...)
	for _, s := range r.spread {
		out = append(out, s.term)
	}
	return out
}

// Rules are the required affinity, anti-affinity and spread constraints of the pods that the check of a plan looks at.
type Rules struct {
	namespaces namespaceIndex
	// defaults are the spread constraints of pods that have no constraints of their own.
	defaults map[*corev1.Pod][]corev1.TopologySpreadConstraint
	byPod    map[*corev1.Pod]*podRules
	// byText are the rules by the result of rulesText, so that pods with equal rules share one value.
	byText map[string]*podRules
	// empty are the rules of pods that have none.
	empty *podRules
}

// NewRules returns empty Rules for a cluster with these namespaces.
func NewRules(namespaces []*corev1.Namespace) *Rules {
	return &Rules{
		namespaces: namespaceIndex{all: namespaces, known: make(map[string]map[string]bool)},
		defaults:   make(map[*corev1.Pod][]corev1.TopologySpreadConstraint),
		byPod:      make(map[*corev1.Pod]*podRules),
		byText:     make(map[string]*podRules),
		empty:      &podRules{},
	}
}

// SetDefaults sets the default spread constraints of a planned pod, for the case that it has none of its own.
func (rs *Rules) SetDefaults(pod *corev1.Pod, constraints []corev1.TopologySpreadConstraint) {
	if len(constraints) > 0 {
		rs.defaults[pod] = constraints
	}
}

// Add parses the rules of the pod. All pods must be added before the first LabelSet is created and before Check.
func (rs *Rules) Add(pod *corev1.Pod) { rs.of(pod) }

// Empty reports whether no pod has a rule.
func (rs *Rules) Empty() bool { return len(rs.byText) == 0 }

// TopologyKeys returns the topology keys of the rules, possibly with duplicates.
func (rs *Rules) TopologyKeys() []string {
	var out []string
	for _, r := range rs.byText {
		for _, t := range r.terms() {
			out = append(out, t.topologyKey)
		}
	}
	return out
}

// of returns the rules of the pod.
func (rs *Rules) of(pod *corev1.Pod) *podRules {
	affinity, antiAffinity := requiredTerms(pod)
	constraints := pod.Spec.TopologySpreadConstraints
	if len(constraints) == 0 {
		constraints = rs.defaults[pod]
	}
	if len(affinity)+len(antiAffinity)+len(constraints) == 0 {
		return rs.empty
	}
	if r, ok := rs.byPod[pod]; ok {
		return r
	}
	text := rulesText(pod, affinity, antiAffinity, constraints)
	r, ok := rs.byText[text]
	if !ok {
		r = &podRules{
			affinity:     rs.namespaces.affinityTerms(pod, affinity),
			antiAffinity: rs.namespaces.affinityTerms(pod, antiAffinity),
			spread:       spreadConstraints(pod, constraints),
		}
		for _, t := range r.affinity {
			r.affinityID += t.id + "\n"
		}
		rs.byText[text] = r
	}
	rs.byPod[pod] = r
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

// rulesText returns a text of everything on which the rules of a pod depend.
func rulesText(
	pod *corev1.Pod, affinity, antiAffinity []corev1.PodAffinityTerm, spread []corev1.TopologySpreadConstraint,
) string {
	text, err := json.Marshal([]any{pod.Namespace, affinity, antiAffinity, spread})
	if err != nil {
		panic("strings do not marshal: " + err.Error())
	}
	var b strings.Builder
	b.Write(text)
	addValues := func(keys []string) {
		for _, k := range keys {
			if v, ok := pod.Labels[k]; ok {
				b.WriteString("\n" + k + "=" + v)
			}
		}
	}
	for _, terms := range [][]corev1.PodAffinityTerm{affinity, antiAffinity} {
		for _, t := range terms {
			addValues(t.MatchLabelKeys)
			addValues(t.MismatchLabelKeys)
		}
	}
	for _, c := range spread {
		addValues(c.MatchLabelKeys)
	}
	return b.String()
}
