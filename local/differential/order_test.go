package differential

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"sigs.k8s.io/yaml"
)

// questions is the maximum number of filter calls in the search for an order.
const questions = 50_000

// A search looks for an order in which all pods of a world can be bound to their nodes. It is a depth-first search. It
// backtracks when no node accepts any of the remaining pods. Which pods can be bound next depends only on the set of bound
// pods, not on their order. So a set without a solution is not tried again. Of equal pods for the same node, only one is tried.
type search struct {
	w    *world
	s    *scheduler
	pods []*corev1.Pod
	kind []int // for each pod, the index of the first pod that equals it
	// dead are the sets of bound pods that cannot be completed, by key.
	dead map[string]bool
	left int // remaining filter calls
	// fewest are the refusals in the state with the fewest remaining pods.
	fewest map[string]*refusal
}

// A stand is a state of the search: some of the pods are bound.
type stand struct {
	there   []bool // whether each pod is bound
	last    int    // the pod that was bound last
	open    []int  // the pods that can be bound next, one of each kind
	refused map[string]*refusal
	// doomed is true if some refusal holds whatever other pods are bound.
	doomed bool
}

// key identifies the set of bound pods. Sets that differ only in equal pods have the same key.
func (st *stand) key(kind []int) string {
	count := make([]int, len(kind))
	for i, k := range kind {
		if st.there[i] {
			count[k]++
		}
	}
	return fmt.Sprint(count)
}

// anyOrder looks for an order in which all of the world's pods are accepted. If there is one, it returns nil. Otherwise it
// returns the refusals in the state with the fewest remaining pods. certain is false if the search was not completed.
func (w *world) anyOrder(s *scheduler) (refused map[string]*refusal, certain bool, err error) {
	if refused, err = w.greedily(s); err != nil || len(refused) == 0 {
		return nil, true, err
	}
	if err := s.restart(w); err != nil {
		return nil, false, err
	}
	r := &search{w: w, s: s, pods: w.affinityLast(), dead: map[string]bool{}, left: questions, fewest: refused}
	spread := func(p *corev1.Pod) int { return min(len(p.Spec.TopologySpreadConstraints), 1) }
	slices.SortStableFunc(r.pods, func(a, b *corev1.Pod) int { return spread(b) - spread(a) }) // other pods can be bound last
	if r.kind, err = w.kinds(r.pods); err != nil {
		return nil, false, err
	}
	found, err := r.from(r.ask(make([]bool, len(r.pods))))
	if found || err != nil {
		return nil, true, err
	}
	return r.fewest, r.left > 0, nil
}

// from binds the remaining pods in the first order that it finds, and reports whether there is one. If there is none, it leaves
// the cluster unchanged.
func (r *search) from(st *stand) (found bool, err error) {
	key := st.key(r.kind)
	switch {
	case len(st.refused) == 0 && len(st.open) == 0:
		return true, nil
	case st.doomed || r.dead[key]:
		return false, nil
	}
	ways, err := r.ahead(st)
	if err != nil {
		return false, err
	}
	for _, next := range ways {
		if r.left <= 0 {
			return false, nil
		}
		undo, err := r.place(next.last)
		if err != nil {
			return false, err
		}
		if found, err := r.from(next); found || err != nil {
			return found, err
		}
		if err := undo(); err != nil {
			return false, err
		}
	}
	if r.left > 0 {
		r.dead[key] = true
	}
	return false, nil
}

// ahead returns the states after one more pod is bound. Those with the fewest refused pods come first.
func (r *search) ahead(st *stand) ([]*stand, error) {
	var ways []*stand
	for _, i := range st.open {
		undo, err := r.place(i)
		if err != nil {
			return nil, err
		}
		there := slices.Clone(st.there)
		there[i] = true
		next := r.ask(there)
		next.last = i
		ways = append(ways, next)
		if err := undo(); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(ways, func(a, b *stand) int { return cmp.Compare(len(a.refused), len(b.refused)) })
	return ways, nil
}

// place binds a pod. undo removes it again.
func (r *search) place(i int) (undo func() error, err error) {
	undo = r.s.mark()
	p := r.pods[i]
	return undo, r.s.bind(p, r.w.target[p.Namespace+"/"+p.Name])
}

// ask runs the plugins for all pods that are not bound, once for each group of equal pods.
func (r *search) ask(there []bool) *stand {
	st := &stand{there: there, refused: map[string]*refusal{}}
	asked := map[int]bool{}
	for i, p := range r.pods {
		if there[i] || asked[r.kind[i]] {
			continue
		}
		asked[r.kind[i]] = true
		r.left--
		key := p.Namespace + "/" + p.Name
		if no := r.s.judge(p, r.w.target[key]); no == nil {
			st.open = append(st.open, i)
		} else {
			st.refused[key] = no
			st.doomed = st.doomed || no.lasting()
		}
	}
	if len(st.open) == 0 && len(st.refused) < len(r.fewest) {
		r.fewest = st.refused
	}
	return st
}

// lasting reports whether the refusal holds whatever other pods are bound.
func (r *refusal) lasting() bool {
	return r.ofNodeAlone() || r.plugin == names.InterPodAffinity && r.reason != interpodaffinity.ErrReasonAffinityRulesNotMatch
}

// kinds returns, for each pod, the index of the first pod that equals it and goes to the same node.
func (w *world) kinds(pods []*corev1.Pod) ([]int, error) {
	first := map[string]int{}
	out := make([]int, len(pods))
	for i, p := range pods {
		text, err := yaml.Marshal([]any{p.Labels, p.OwnerReferences, p.Spec})
		if err != nil {
			return nil, fmt.Errorf("write down pod %s: %w", p.Name, err)
		}
		key := fmt.Sprintf("%s %s %s", w.target[p.Namespace+"/"+p.Name], p.Namespace, text)
		if len(p.Spec.Volumes) > 0 { // each pod has its own volumes
			key += p.Name
		}
		if _, ok := first[key]; !ok {
			first[key] = i
		}
		out[i] = first[key]
	}
	return out, nil
}
