package topology

import (
	"fmt"
	"maps"
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

// A Book is an interner and index of terms: it numbers different terms and finds those that select a pod.
type Book struct {
	terms  []*Term
	number map[string]int
	// byLabel are the terms that select only pods with a certain label, by that label. loose are all others.
	byLabel map[label][]int
	loose   []int
	// keys are the pod label keys that some term uses.
	keys map[string]bool
}

type label struct{ key, value string }

// NewBook returns an empty book.
func NewBook() *Book {
	return &Book{number: map[string]int{}, byLabel: map[label][]int{}, keys: map[string]bool{}}
}

// Number returns the number of t, a new one if no equal term has a number. Numbers start at zero, in order of first appearance.
func (b *Book) Number(t *Term) int {
	if n, ok := b.number[t.text]; ok {
		return n
	}
	n := len(b.terms)
	b.terms = append(b.terms, t)
	b.number[t.text] = n
	if l, ok := t.anchor(); ok {
		b.byLabel[l] = append(b.byLabel[l], n)
	} else {
		b.loose = append(b.loose, n)
	}
	for _, p := range t.picks {
		requirements, _ := p.selector.Requirements()
		for _, r := range requirements {
			b.keys[r.Key()] = true
		}
	}
	return n
}

// Len returns the number of terms.
func (b *Book) Len() int { return len(b.terms) }

// Term returns the term with that number.
func (b *Book) Term(n int) *Term { return b.terms[n] }

// Keys returns the pod label keys that some term uses, sorted.
func (b *Book) Keys() []string { return slices.Sorted(maps.Keys(b.keys)) }

// Selecting appends to out, in random order, the numbers of the terms that select a pod with the namespace and labels.
func (b *Book) Selecting(out []int, namespace string, set map[string]string) []int {
	if len(b.byLabel) > 0 {
		for k, v := range set {
			if !b.keys[k] {
				continue
			}
			for _, n := range b.byLabel[label{k, v}] {
				if b.terms[n].Selects(namespace, set) {
					out = append(out, n)
				}
			}
		}
	}
	for _, n := range b.loose {
		if b.terms[n].Selects(namespace, set) {
			out = append(out, n)
		}
	}
	return out
}

// Breadths returns for each term an upper bound of how many of the pods, given by their labels, it selects. It evaluates no
// selectors, so its cost is linear in the number of labels and terms.
func (b *Book) Breadths(pods []map[string]string) []int {
	with := map[label]int{}
	for _, labels := range pods {
		for k, v := range labels {
			if b.keys[k] {
				with[label{k, v}]++
			}
		}
	}
	out := make([]int, len(b.terms))
	for _, n := range b.loose {
		out[n] = len(pods)
	}
	for l, list := range b.byLabel {
		for _, n := range list {
			out[n] = with[l]
		}
	}
	return out
}
