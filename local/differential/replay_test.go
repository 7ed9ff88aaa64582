package differential

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// greedily binds the world's pods to their planned nodes as soon as the plugins accept them. It leaves the bound pods in the
// scheduler, and returns the refusals of the others.
func (w *world) greedily(s *scheduler) (map[string]*refusal, error) {
	if err := s.restart(w); err != nil {
		return nil, err
	}
	return w.arrive(s, w.affinityLast())
}

// affinityLast returns the waiting pods in the plan's order, but those with required pod affinity last. An affinity may need
// one of the other pods, and these can be bound at any time.
func (w *world) affinityLast() []*corev1.Pod {
	order := slices.Clone(w.waiting)
	slices.SortStableFunc(order, func(a, b *corev1.Pod) int {
		return cmp.Compare(min(len(affinityTerms(a)), 1), min(len(affinityTerms(b)), 1))
	})
	return order
}

// inOrder tries to bind each pod once, in the plan's order, and returns the refusals.
func (w *world) inOrder(s *scheduler) (map[string]*refusal, error) {
	if err := s.restart(w); err != nil {
		return nil, err
	}
	refused := map[string]*refusal{}
	for _, p := range w.waiting {
		key := p.Namespace + "/" + p.Name
		if r := s.judge(p, w.target[key]); r != nil {
			refused[key] = r
		} else if err := s.bind(p, w.target[key]); err != nil {
			return nil, err
		}
	}
	return refused, nil
}

// arrive tries to bind the pods in the given order, repeatedly, until no further pod can be bound. It returns the refusals of
// the rest.
func (w *world) arrive(s *scheduler, pods []*corev1.Pod) (map[string]*refusal, error) {
	waiting := slices.Clone(pods)
	refused := map[string]*refusal{}
	for before := len(waiting) + 1; len(waiting) < before; {
		before = len(waiting)
		var left []*corev1.Pod
		for _, p := range waiting {
			key := p.Namespace + "/" + p.Name
			if r := s.judge(p, w.target[key]); r != nil {
				refused[key] = r
				left = append(left, p)
				continue
			}
			delete(refused, key)
			if err := s.bind(p, w.target[key]); err != nil {
				return nil, err
			}
		}
		waiting = left
	}
	return refused, nil
}

// explain formats refusals for the message of a failed test.
func (w *world) explain(refused map[string]*refusal) string {
	var b strings.Builder
	for _, p := range w.waiting {
		key := p.Namespace + "/" + p.Name
		if r := refused[key]; r != nil {
			fmt.Fprintf(&b, "%s on %s: %s\n", key, w.target[key], r)
		}
	}
	for _, n := range w.nodes {
		fmt.Fprintf(&b, "node %s: %v\n", n.Name, n.Labels)
	}
	return b.String()
}
