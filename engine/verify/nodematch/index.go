package nodematch

import (
	"cmp"
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// A Selector is the node selector and required node affinity of pods. The nil Selector matches each node, an invalid one
// none.
type Selector struct {
	required nodeaffinity.RequiredNodeAffinity
}

// An Index holds the Selectors of one check, the label keys that they use, and the LabelSets that nodes may have. All
// selectors and keys must be added before the first LabelSet is created. Even large plans have only dozens of
// LabelSets, and each selector is evaluated once per LabelSet.
type Index struct {
	// Aliases maps deprecated label keys to stable ones. A node has both labels.
	Aliases map[string]string
	// Relevant are the label keys that some selector uses.
	Relevant  map[string]bool
	selectors map[string]*Selector
	sets      map[string]*LabelSet // by the values of the relevant keys
	buffer    []byte               // reused by At
}

// A LabelSet is a combination of values for all relevant label keys.
type LabelSet struct {
	node    *corev1.Node
	matches map[*Selector]bool
}

// NewIndex returns an empty index.
func NewIndex(aliases map[string]string) *Index {
	return &Index{
		Aliases:   aliases,
		selectors: make(map[string]*Selector),
		Relevant:  make(map[string]bool),
		sets:      make(map[string]*LabelSet),
	}
}

// Selector returns the selector of the pod, nil if it selects every node. Pods with equal node selectors and required
// node affinity share one Selector.
func (x *Index) Selector(pod *corev1.Pod) *Selector {
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
	if s, ok := x.selectors[string(text)]; ok {
		return s
	}
	for key := range pod.Spec.NodeSelector {
		x.AddKey(key)
	}
	if required != nil {
		for _, term := range required.NodeSelectorTerms {
			for _, e := range term.MatchExpressions {
				x.AddKey(e.Key)
			}
		}
	}
	s := &Selector{required: nodeaffinity.GetRequiredNodeAffinity(pod)}
	x.selectors[string(text)] = s
	return s
}

// AddKey makes a label key relevant, and also its stable key if it is deprecated.
func (x *Index) AddKey(key string) {
	x.Relevant[key] = true
	x.Relevant[cmp.Or(x.Aliases[key], key)] = true
}

// At returns the LabelSet in which keys[i] has values[i]. The keys are sorted and include all relevant ones.
func (x *Index) At(keys []string, values []Value) *LabelSet {
	text := x.buffer[:0]
	for i, key := range keys {
		if !x.Relevant[key] {
			continue
		}
		if v := x.value(keys, values, i); v.Missing {
			text = append(text, "!\n"...) // no label value starts with "!"
		} else {
			text = append(append(text, v.Text...), '\n')
		}
	}
	x.buffer = text
	set, ok := x.sets[string(text)]
	if !ok {
		labels := make(map[string]string)
		for i, key := range keys {
			if v := x.value(keys, values, i); x.Relevant[key] && !v.Missing {
				labels[key] = v.Text
			}
		}
		set = Of(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: labels}})
		x.sets[string(text)] = set
	}
	return set
}

// value returns values[i], or the value of the stable key if the key is deprecated and its value is missing.
func (x *Index) value(keys []string, values []Value, i int) Value {
	if stable, ok := x.Aliases[keys[i]]; ok && values[i].Missing {
		if at, found := slices.BinarySearch(keys, stable); found {
			return values[at]
		}
	}
	return values[i]
}

// Of returns the LabelSet of an existing node.
func Of(node *corev1.Node) *LabelSet {
	return &LabelSet{node: node, matches: make(map[*Selector]bool)}
}

// Labels returns the labels. For a planned node they include only relevant keys.
func (l *LabelSet) Labels() map[string]string { return l.node.Labels }

// MatchedBy reports whether the selector matches a node with these labels.
func (l *LabelSet) MatchedBy(s *Selector) bool {
	if s == nil {
		return true
	}
	match, ok := l.matches[s]
	if !ok {
		ok, err := s.required.Match(l.node)
		match = err == nil && ok
		l.matches[s] = match
	}
	return match
}
