package podtopology

import "slices"

// An affinityCount counts the pods that required affinity selects while pods are placed. As in kube-scheduler, a pod counts only
// if all terms select it.
type affinityCount struct {
	terms []*term
	// placed counts the pods that are certain to be in a domain that is certain.
	placed map[domain]int
	// anywhere is how many pods may be in some domain of one of the terms, certain or not.
	anywhere int
}

// affinityCountOf returns the count for the affinity of a class. It registers a new one with the classes that it selects.
func (r *replay) affinityCountOf(rules *podRules) *affinityCount {
	if known, ok := r.affinity[rules.affinityID]; ok {
		return known
	}
	a := &affinityCount{terms: rules.affinity, placed: make(map[domain]int)}
	for _, k := range r.cluster.selectedBy(a.terms[0]) {
		if !slices.ContainsFunc(a.terms, func(t *term) bool { return !k.matches(t) }) {
			k.affinityCounts = append(k.affinityCounts, a)
		}
	}
	r.affinity[rules.affinityID] = a
	return a
}

// add counts pods on a node. certain means that they are certain to be there.
func (a *affinityCount) add(n *Node, pods int, certain bool) {
	for _, t := range a.terms {
		if len(n.domain(t.topologyKey)) == 0 {
			continue
		}
		a.anywhere += pods
		if d, settled := n.certainDomain(t.topologyKey); settled && certain {
			a.placed[d] += pods
		}
	}
}

// met reports whether each term's domain of the node holds a pod for certain.
func (a *affinityCount) met(n *Node) bool {
	return !slices.ContainsFunc(a.terms, func(t *term) bool {
		d, _ := n.certainDomain(t.topologyKey)
		return a.placed[d] == 0
	})
}

// firstPod reports whether kube-scheduler's first-pod rule lets a pod of the class be placed: the affinity selects the pod itself,
// and no other pod anywhere.
func (a *affinityCount) firstPod(k *class) bool {
	return a.anywhere == 0 && slices.Contains(k.affinityCounts, a)
}
