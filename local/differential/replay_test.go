package differential

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// greedily lets the world's pods arrive, each at the node that was planned for it, whoever is accepted first, and leaves the
// scheduler with all that could be placed. It returns the pods that were refused in the end.
func (w *world) greedily(s *scheduler) (map[string]*refusal, error) {
	if err := s.restart(w); err != nil {
		return nil, err
	}
	return w.arrive(s, w.byCompany())
}

// byCompany returns the waiting pods in the plan's order, but those that want company last: those that come of themselves may come
// at any time, and be first of their kind.
func (w *world) byCompany() []*corev1.Pod {
	order := slices.Clone(w.waiting)
	slices.SortStableFunc(order, func(a, b *corev1.Pod) int {
		return cmp.Compare(min(len(affinityTerms(a)), 1), min(len(affinityTerms(b)), 1))
	})
	return order
}

// inOrder lets the pods arrive once, in the plan's order, and returns those that were refused.
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

// arrive binds the pods in that order, going round as long as one more can be placed. It returns those that cannot.
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

// explain lists refusals for people.
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
