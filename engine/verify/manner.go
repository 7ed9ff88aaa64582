package verify

import (
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// A manner is what a pod asks of other pods. Pods that ask the same share one, so that a
// plan for thousands of pods reads a few hundred.
type manner struct {
	// near are the pods it must be near. The terms are one wish: a pod counts if all of
	// them match it.
	near []*term
	// text is the same for equal wishes.
	text string
	// apart are pods that it must not share a domain with, each term by itself.
	apart   []*term
	spreads []spread
}

// manners knows the manner of each pod.
type manners struct {
	spaces spaces
	// spread returns the constraints of pods that have none of their own, defaults holds them for pods that are to be placed.
	spread   func(*model.Pod) []corev1.TopologySpreadConstraint
	defaults map[*corev1.Pod][]corev1.TopologySpreadConstraint
	byPod    map[*corev1.Pod]*manner
	byText   map[string]*manner
	// none is the manner of pods that ask nothing.
	none *manner
}

func newManners(s *model.Snapshot, spread func(*model.Pod) []corev1.TopologySpreadConstraint) *manners {
	return &manners{
		spread: spread, defaults: make(map[*corev1.Pod][]corev1.TopologySpreadConstraint),
		spaces: spaces{snapshot: s, known: make(map[string]map[string]bool)},
		byPod:  make(map[*corev1.Pod]*manner),
		byText: make(map[string]*manner),
		none:   &manner{},
	}
}

// of returns the manner of pod.
func (ms *manners) of(pod *corev1.Pod) *manner {
	near, apart := required(pod)
	constraints := pod.Spec.TopologySpreadConstraints
	if len(constraints) == 0 {
		constraints = ms.defaults[pod]
	}
	if len(near)+len(apart)+len(constraints) == 0 {
		return ms.none
	}
	if m, ok := ms.byPod[pod]; ok {
		return m
	}
	text := asked(pod, near, apart, constraints)
	m, ok := ms.byText[text]
	if !ok {
		m = &manner{
			near:    ms.spaces.terms(pod, near),
			apart:   ms.spaces.terms(pod, apart),
			spreads: spreadsOf(pod, constraints),
		}
		for _, t := range m.near {
			m.text += t.text + "\n"
		}
		ms.byText[text] = m
	}
	ms.byPod[pod] = m
	return m
}

// expect reads how a pod that is to be placed must be spread if it says nothing itself. Defaults bind nobody who has a
// place.
func (ms *manners) expect(p *model.Pod) {
	if ms.spread == nil || len(p.Object.Spec.TopologySpreadConstraints) > 0 {
		return
	}
	if list := ms.spread(p); len(list) > 0 {
		ms.defaults[p.Object] = list
	}
}

// required returns the affinity and anti-affinity terms of pod that must hold.
func required(pod *corev1.Pod) (near, apart []corev1.PodAffinityTerm) {
	a := pod.Spec.Affinity
	if a == nil {
		return nil, nil
	}
	if a.PodAffinity != nil {
		near = a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	if a.PodAntiAffinity != nil {
		apart = a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return near, apart
}

// asked writes down all that the manner of a pod depends on.
func asked(
	pod *corev1.Pod, near, apart []corev1.PodAffinityTerm, spread []corev1.TopologySpreadConstraint,
) string {
	text, err := json.Marshal([]any{pod.Namespace, near, apart, spread})
	if err != nil {
		panic("strings do not marshal: " + err.Error())
	}
	var b strings.Builder
	b.Write(text)
	own := func(keys []string) {
		for _, k := range keys {
			if v, ok := pod.Labels[k]; ok {
				b.WriteString("\n" + k + "=" + v)
			}
		}
	}
	for _, terms := range [][]corev1.PodAffinityTerm{near, apart} {
		for _, t := range terms {
			own(t.MatchLabelKeys)
			own(t.MismatchLabelKeys)
		}
	}
	for _, c := range spread {
		own(c.MatchLabelKeys)
	}
	return b.String()
}

// terms returns all that m looks at.
func (m *manner) terms() []*term {
	out := append(append([]*term{}, m.near...), m.apart...)
	for _, s := range m.spreads {
		out = append(out, s.term)
	}
	return out
}

// spreads reports whether m has the constraint.
func (m *manner) binds(s spread) bool {
	for _, o := range m.spreads {
		if o.text == s.text && o.maxSkew == s.maxSkew && o.minDomains == s.minDomains {
			return true
		}
	}
	return false
}
