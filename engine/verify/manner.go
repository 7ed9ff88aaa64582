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
	byPod  map[*corev1.Pod]*manner
	byText map[string]*manner
	// none is the manner of pods that ask nothing.
	none *manner
}

func newManners(s *model.Snapshot) *manners {
	return &manners{
		spaces: spaces{snapshot: s, known: make(map[string]map[string]bool)},
		byPod:  make(map[*corev1.Pod]*manner),
		byText: make(map[string]*manner),
		none:   &manner{},
	}
}

// of returns the manner of pod.
func (ms *manners) of(pod *corev1.Pod) *manner {
	near, apart := required(pod)
	if len(near)+len(apart)+len(pod.Spec.TopologySpreadConstraints) == 0 {
		return ms.none
	}
	if m, ok := ms.byPod[pod]; ok {
		return m
	}
	text := asked(pod, near, apart)
	m, ok := ms.byText[text]
	if !ok {
		m = &manner{
			near:    ms.spaces.terms(pod, near),
			apart:   ms.spaces.terms(pod, apart),
			spreads: spreadsOf(pod),
		}
		for _, t := range m.near {
			m.text += t.text + "\n"
		}
		ms.byText[text] = m
	}
	ms.byPod[pod] = m
	return m
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
func asked(pod *corev1.Pod, near, apart []corev1.PodAffinityTerm) string {
	text, err := json.Marshal([]any{pod.Namespace, near, apart, pod.Spec.TopologySpreadConstraints})
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
	for _, c := range pod.Spec.TopologySpreadConstraints {
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
