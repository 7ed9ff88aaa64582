package assign

import (
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/pack/compile"
)

// The number of combinations of domains is the product of the numbers of domains. Pods determine the keys, so with several keys
// that have many domains, such as the instance type, the product has no bound. Most of these combinations do not exist.
const (
	// maxVisits is the largest number of visits of one walk over keys with more than maxChoices combinations. A visit is the work
	// for one combination of domains of some of the keys.
	maxVisits = 2048
	// maxNamespaceVisits is the largest number of visits of all such walks for pods of one namespace in an Assignment.
	maxNamespaceVisits = 16_384
)

// A walk enumerates combinations of domains, one of each key, in which a new node may be. They come in the order of the keys,
// and of a key in the order unknown value, no label, values by name. With more than maxChoices combinations, it omits those
// that begin with domains in which no pool can launch a node for the needs, and makes a bounded number of visits.
type walk struct {
	assignment *Assignment
	keys       []int
	needs      catalog.Needs
	// yield gets each combination. A result of false ends the walk.
	yield func(domains []int) bool

	bounded bool
	visits  int // how many more visits there may be, if bounded
}

// run calls yield for the combinations. namespace is that of the pods.
func (w *walk) run(namespace string) {
	product := 1
	for _, k := range w.keys {
		product = min(product*len(w.domains(k)), maxChoices+1)
	}
	if product <= maxChoices {
		w.from(nil)
		return
	}
	used := w.assignment.visits[namespace]
	w.bounded, w.visits = true, min(maxVisits, maxNamespaceVisits-used)
	before := w.visits
	w.from(nil)
	w.assignment.visits[namespace] = used + before - w.visits
}

// domains returns the domains of the key in which a new node may be. Outside stands for a node without the label, Unsettled for one
// with an unknown value.
func (w *walk) domains(key int) []int {
	k := w.assignment.Problem.Keys[key]
	var out []int
	if k.Open {
		out = append(out, compile.Unsettled)
	}
	if k.MayLack {
		out = append(out, compile.Outside)
	}
	return append(out, k.Reach...)
}

// from visits the combinations whose first domains are those in chosen. It returns false if the walk ends.
func (w *walk) from(chosen []int) bool {
	if w.bounded && len(chosen) > 0 {
		if w.visits == 0 {
			return false
		}
		w.visits--
	}
	if len(chosen) == len(w.keys) {
		return w.yield(chosen)
	}
	if w.bounded && len(chosen) > 0 && !w.isPossible(chosen) {
		return true
	}
	for _, d := range w.domains(w.keys[len(chosen)]) {
		if !w.from(append(chosen, d)) {
			return false
		}
	}
	return true
}

// isPossible reports whether a pool can launch a node in these domains of the first keys.
func (w *walk) isPossible(chosen []int) bool {
	needs, p := w.needs, w.assignment.Problem
	needs.Extra = p.LabelsIn(w.keys[:len(chosen)], chosen)
	return p.Catalog.Launchable(w.assignment.Limits, p.Catalog.Fit(needs))
}
