package podtopology

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// A replay places the planned pods one after another, as kube-scheduler would, and reports pods that a rule excludes
// from their node. Running pods and DaemonSet pods are present from the start.
type replay struct {
	cluster  *cluster
	counts   map[string]*count       // by rule
	eligible map[string]*eligibility // by eligibilityID
	arrivals []*arrival              // in the order of nodes
}

// An arrival is the planned pods of one group, with the counts on which their rules depend.
type arrival struct {
	*group
	limits []*count // by spread constraint
	// needs has a count for each affinity term, in the domains of the term. It counts the pods that all affinity terms of
	// the arrival select. selects is true if these terms also select the pods of the arrival itself.
	needs   []*count
	selects bool
	avoids  []*count // by anti-affinity term
	next    int      // number of pods that are placed or refused
	// unsettled is true if the node has no certain domain of a topology key (see checkSettled). Then a violation is
	// reported for all pods at the start, and later only their anti-affinity is checked.
	unsettled bool
}

// newReplay returns a replay in which no planned pod is placed.
func newReplay(c *cluster) *replay {
	r := &replay{cluster: c, counts: make(map[string]*count), eligible: make(map[string]*eligibility)}
	for _, k := range c.classes {
		r.countHolders(k)
	}
	for _, n := range c.nodes {
		for _, g := range n.groups {
			if len(g.planned) > 0 {
				r.arrivals = append(r.arrivals, r.newArrival(g))
			}
		}
	}
	for _, k := range c.classes {
		for _, g := range k.groups {
			for _, counted := range k.counts {
				counted.addPresent(g)
			}
		}
	}
	return r
}

// newArrival returns the arrival of a group before any of its pods is placed.
func (r *replay) newArrival(g *group) *arrival {
	a := &arrival{group: g}
	rules := g.class.rules
	for _, s := range rules.spread {
		a.limits = append(a.limits, r.countForSpread(s, g.class))
		r.checkSettled(a, Spread, s.topologyKey)
	}
	all := func(k *class) bool {
		return !slices.ContainsFunc(rules.affinity, func(t *term) bool { return !k.matches(t) })
	}
	for _, t := range rules.affinity {
		a.needs = append(a.needs, r.countSelected("affinity "+rules.affinityID+t.id, t, nil, all))
		r.checkSettled(a, Affinity, t.topologyKey)
	}
	a.selects = all(g.class)
	for _, t := range rules.antiAffinity {
		a.avoids = append(a.avoids, r.countSelected("antiAffinity "+t.id, t, nil, nil))
	}
	return a
}

// countSelected returns the count of the pods that the term selects. If include is not nil, it counts only classes
// for which include is true. id identifies the count.
func (r *replay) countSelected(id string, t *term, eligible *eligibility, include func(*class) bool) *count {
	known, ok := r.counts[id]
	if !ok {
		known = newCount(t.topologyKey, eligible)
		known.affinity = include != nil
		r.counts[id] = known
		for _, k := range r.cluster.selectedBy(t) {
			if include == nil || include(k) {
				k.counts = append(k.counts, known)
			}
		}
	}
	return known
}

// countForSpread returns the count of pods that a spread constraint of the class selects, on nodes that are eligible
// for it.
func (r *replay) countForSpread(s spreadConstraint, k *class) *count {
	id := s.eligibilityID(k)
	if r.eligible[id] == nil {
		r.eligible[id] = s.eligibility(k, r.cluster.nodes)
	}
	return r.countSelected("spread "+s.id+" "+id, s.term, r.eligible[id], nil)
}

// countHolders creates, for each anti-affinity term of the class, a count of the pods that have the term. It adds the
// count to excluding of each class that the term selects.
func (r *replay) countHolders(k *class) {
	for _, t := range k.rules.antiAffinity {
		id := "holders " + t.id
		if r.counts[id] == nil {
			r.counts[id] = newCount(t.topologyKey, nil)
			for _, selected := range r.cluster.selectedBy(t) {
				selected.excluding = append(selected.excluding, r.counts[id])
			}
		}
		if !slices.Contains(k.counts, r.counts[id]) {
			k.counts = append(k.counts, r.counts[id])
		}
	}
}

// checkSettled reports the pods of the arrival if certainDomain returns no domain for its node and the topology key.
func (r *replay) checkSettled(a *arrival, rule Rule, key string) {
	if _, ok := a.node.certainDomain(key); ok || a.unsettled {
		return
	}
	a.unsettled = true
	for _, pod := range a.planned {
		if values := a.node.domain(key); len(values) == 0 {
			r.cluster.report(rule, a.node, pod, "the node has no label %s", key)
		} else {
			r.cluster.report(rule, a.node, pod, "the value of %s is not settled: any of %q, or the node lacks the label", key, values)
		}
	}
}

// run places the pods of the order, then all others.
func (r *replay) run(order []*corev1.Pod) {
	left := make(map[*corev1.Pod]*arrival)
	for _, a := range r.arrivals {
		for _, p := range a.planned {
			left[p] = a
		}
	}
	for _, p := range order {
		a := left[p]
		if a == nil {
			continue
		}
		delete(left, p)
		if no := a.refusal(true); no != nil {
			r.cluster.report(no.rule, a.node, p, no.format, no.args...)
			a.next++
		} else {
			a.place()
		}
	}
	r.placeRest(left)
}

// placeRest places the pods that are not in the order, and reports those that cannot be placed. Pods with spread
// constraints come first, because other pods can be placed later. Pods that need the first-pod rule come last.
func (r *replay) placeRest(left map[*corev1.Pod]*arrival) {
	var rest []*arrival
	for _, a := range r.arrivals {
		if a.next < len(a.planned) {
			rest = append(rest, a)
		}
	}
	slices.SortStableFunc(rest, func(a, b *arrival) int { return min(1, len(b.limits)) - min(1, len(a.limits)) })
	for placeNext(rest, false) || placeNext(rest, true) {
		rest = slices.DeleteFunc(rest, func(a *arrival) bool { return a.next == len(a.planned) })
	}
	for _, a := range rest {
		no := a.refusal(true)
		for _, p := range a.planned {
			if left[p] != nil && a.next < len(a.planned) {
				r.cluster.report(no.rule, a.node, p, no.format, no.args...)
				a.next++
			}
		}
	}
}

// placeNext places pods that are not refused, and reports whether there were any. While pods with spread constraints
// are refused, other pods are placed one at a time. firstPod enables the first-pod rule.
func placeNext(rest []*arrival, firstPod bool) (placed bool) {
	blocked := false
	for _, a := range rest {
		single := blocked && len(a.limits) == 0
		if single && placed {
			return true
		}
		for a.next < len(a.planned) && a.refusal(firstPod) == nil {
			a.place()
			placed = true
			if single {
				return true
			}
		}
		blocked = blocked || len(a.limits) > 0 && a.next < len(a.planned)
	}
	return placed
}

// place adds the next pod of the arrival to all counts that include its class.
func (a *arrival) place() {
	a.next++
	for _, c := range a.class.counts {
		c.add(a.node, nil, 1, Certain)
	}
}
