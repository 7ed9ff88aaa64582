package verify

import (
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// A selector is the node selector and required node affinity of one or many pods.
type selector struct {
	required nodeaffinity.RequiredNodeAffinity
}

// places knows all selectors of a check, the labels they look at, and every
// combination of those labels that a node may have. A plan of hundreds of nodes with
// hundreds of types each knows only a few dozen combinations, and each selector is
// asked about each of them once.
type places struct {
	aliases   map[string]string // old names of labels, which nodes carry beside the new
	selectors map[string]*selector
	looked    map[string]bool   // label keys that some selector looks at
	known     map[string]*place // by the labels looked at
	text      []byte            // memory that is used again
}

// A place is a node as the selectors see it.
type place struct {
	node    *corev1.Node
	answers map[*selector]bool
	// union is the last union that it was part of.
	union int
}

func newPlaces(aliases map[string]string) *places {
	return &places{
		aliases:   aliases,
		selectors: make(map[string]*selector),
		looked:    make(map[string]bool),
		known:     make(map[string]*place),
	}
}

// selectorOf returns the selector of pod, the same one for equal pods, or nil if it
// has none. All selectors must be known before the first place is asked for.
func (ps *places) selectorOf(pod *corev1.Pod) *selector {
	var required *corev1.NodeSelector
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil {
		required = a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	if len(pod.Spec.NodeSelector) == 0 && required == nil {
		return nil
	}
	text, err := json.Marshal([]any{pod.Spec.NodeSelector, required})
	if err != nil {
		panic("strings do not marshal: " + err.Error())
	}
	if s, ok := ps.selectors[string(text)]; ok {
		return s
	}
	for key := range pod.Spec.NodeSelector {
		ps.look(key)
	}
	if required != nil {
		for _, term := range required.NodeSelectorTerms {
			for _, e := range term.MatchExpressions {
				ps.look(e.Key)
			}
		}
	}
	s := &selector{required: nodeaffinity.GetRequiredNodeAffinity(pod)}
	ps.selectors[string(text)] = s
	return s
}

// look notes that somebody cares about a label.
func (ps *places) look(key string) {
	ps.looked[key] = true
	if stable, ok := ps.aliases[key]; ok {
		ps.looked[stable] = true
	}
}

// at returns the place where the labels of these keys, which are sorted and hold all
// that are looked at, turned out like this.
func (ps *places) at(keys []string, labels []candidate) *place {
	text := ps.text[:0]
	for i, key := range keys {
		if !ps.looked[key] {
			continue
		}
		if label := ps.label(keys, labels, i); label.missing {
			text = append(text, "!\n"...) // no label value begins so
		} else {
			text = append(append(text, label.value...), '\n')
		}
	}
	ps.text = text
	p, ok := ps.known[string(text)]
	if !ok {
		seen := make(map[string]string)
		for i, key := range keys {
			if label := ps.label(keys, labels, i); ps.looked[key] && !label.missing {
				seen[key] = label.value
			}
		}
		p = &place{
			node:    &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: seen}},
			answers: make(map[*selector]bool),
		}
		ps.known[string(text)] = p
	}
	return p
}

// label returns the i-th label; an old name that nobody sets has the value of the new.
func (ps *places) label(keys []string, labels []candidate, i int) candidate {
	if stable, ok := ps.aliases[keys[i]]; ok && labels[i].missing {
		if at, found := slices.BinarySearch(keys, stable); found {
			return labels[at]
		}
	}
	return labels[i]
}

// takes reports whether a pod with selector s may run at p, by its labels.
func (p *place) takes(s *selector) bool {
	if s == nil {
		return true
	}
	answer, ok := p.answers[s]
	if !ok {
		answer = s.matches(p.node)
		p.answers[s] = answer
	}
	return answer
}

// matches asks the scheduler's helper. A selector that cannot be read matches nothing.
func (s *selector) matches(node *corev1.Node) bool {
	if s == nil {
		return true
	}
	ok, err := s.required.Match(node)
	return err == nil && ok
}
