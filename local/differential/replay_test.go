package differential

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// orders is how many orders of arrival are tried before pods are taken for refused.
const orders = 20

// replay lets the world's pods arrive, each at the node that was planned for it, and leaves the scheduler with all that
// could be placed. It returns the pods that were refused, with the reason of the last time, or nil.
func (w *world) replay(s *scheduler, attempts int) (map[string]*refusal, error) {
	var fewest map[string]*refusal
	// Pods that want company come last: those that come of themselves may come at any time, and be first of their kind.
	order := slices.Clone(w.waiting)
	slices.SortStableFunc(order, func(a, b *corev1.Pod) int { return cmp.Compare(len(company(a)), len(company(b))) })
	dice := rand.New(rand.NewPCG(1, 2))
	for i := range attempts {
		if err := s.restart(w); err != nil {
			return nil, err
		}
		// Every other time those that must be spread come first: a pod that need not be can always come last.
		first := slices.Clone(order)
		if i%2 == 1 {
			first = slices.DeleteFunc(first, func(p *corev1.Pod) bool { return len(p.Spec.TopologySpreadConstraints) == 0 })
		}
		if _, err := w.arrive(s, first); err != nil {
			return nil, err
		}
		refused, err := w.arrive(s, order)
		if err != nil {
			return nil, err
		}
		if fewest == nil || len(refused) < len(fewest) {
			fewest = refused
		}
		if len(refused) == 0 {
			return nil, nil
		}
		dice.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	return fewest, nil
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

// arrive binds those of the pods that are not there yet, in that order, going round as long as one more can be placed. It
// returns those that cannot.
func (w *world) arrive(s *scheduler, pods []*corev1.Pod) (map[string]*refusal, error) {
	there := map[string]bool{}
	for _, p := range s.pods {
		there[p.Namespace+"/"+p.Name] = true
	}
	waiting := slices.Clone(pods)
	refused := map[string]*refusal{}
	for before := len(waiting) + 1; len(waiting) < before; {
		before = len(waiting)
		var left []*corev1.Pod
		for _, p := range waiting {
			key := p.Namespace + "/" + p.Name
			if there[key] {
				continue
			}
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
