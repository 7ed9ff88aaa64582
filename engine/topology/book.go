package topology

import (
	"maps"
	"slices"
)

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
	t.labelKeys(func(key string) { b.keys[key] = true })
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
