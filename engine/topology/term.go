package topology

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// A Term selects pods, and divides nodes into domains by one of their labels.
type Term struct {
	// Key is the topology key: the node label whose values are the domains.
	Key string
	// text is equal for equal terms only.
	text  string
	picks []pick
}

// A pick is a condition on the namespace and labels of a pod. A term selects pods that meet all of its picks; it has
// several only if it stands for several affinity terms.
type pick struct {
	everywhere bool
	namespaces []string // sorted
	selector   labels.Selector
}

// String returns a text that is equal for equal terms only.
func (t *Term) String() string { return t.text }

// Selects reports whether t selects a pod with the namespace and labels.
func (t *Term) Selects(namespace string, set map[string]string) bool {
	for i := range t.picks {
		if !t.picks[i].selects(namespace, set) {
			return false
		}
	}
	return true
}

func (p *pick) selects(namespace string, set map[string]string) bool {
	if !p.everywhere {
		if _, ok := slices.BinarySearch(p.namespaces, namespace); !ok {
			return false
		}
	}
	return p.selector.Matches(labels.Set(set))
}

// newTerm returns a term. Its text says whether each selector is empty, because a selector of all pods and one of no pods
// print the same.
func newTerm(key string, picks ...pick) *Term {
	var b strings.Builder
	b.WriteString(key)
	for _, p := range picks {
		fmt.Fprintf(&b, " %t %q %t %s", p.everywhere, p.namespaces, p.selector.Empty(), p.selector)
	}
	return &Term{Key: key, text: b.String(), picks: picks}
}

// labelKeys calls yield for each pod label key that t uses.
func (t *Term) labelKeys(yield func(string)) {
	for _, p := range t.picks {
		requirements, _ := p.selector.Requirements()
		for _, r := range requirements {
			yield(r.Key())
		}
	}
}

// anchor returns a label (key and value) that every pod selected by t has. A Book finds the terms of a pod by this label. ok
// is false if the selector of its first pick selects no pods, or has no requirement with exactly one admitted value.
func (t *Term) anchor() (label, bool) {
	requirements, selectable := t.picks[0].selector.Requirements()
	if !selectable {
		return label{}, false
	}
	for _, r := range requirements {
		if (r.Operator() == selection.Equals || r.Operator() == selection.In) && r.Values().Len() == 1 {
			v, _ := r.Values().PopAny()
			return label{r.Key(), v}, true
		}
	}
	return label{}, false
}

// selectorFor returns the selector of a pod's term. matchLabelKeys and mismatchLabelKeys add the pod's own values. A
// missing selector, an invalid one and an invalid own value select nothing.
func selectorFor(pod *corev1.Pod, s *metav1.LabelSelector, match, mismatch []string) labels.Selector {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil || s == nil {
		return labels.Nothing()
	}
	selector = withOwn(selector, pod, selection.In, match)
	return withOwn(selector, pod, selection.NotIn, mismatch)
}

func withOwn(selector labels.Selector, pod *corev1.Pod, op selection.Operator, keys []string) labels.Selector {
	for _, key := range keys {
		v, ok := pod.Labels[key]
		if !ok {
			continue
		}
		r, err := labels.NewRequirement(key, op, []string{v})
		if err != nil {
			return labels.Nothing()
		}
		selector = selector.Add(*r)
	}
	return selector
}
