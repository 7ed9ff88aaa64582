package podtopology

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// A replay places the planned pods one after another, as kube-scheduler would, and reports those that a rule keeps off their node.
// At first all running pods are there, and the pods of DaemonSets.
type replay struct {
	cluster  *cluster
	affinity map[string]*affinityCount // by affinityID
	spread   map[string]*spreadCount   // by constraint
	eligible map[string]*eligibility   // by eligibilityID
	domains  map[string]*keyDomains    // by topology key
	arrivals []*arrival                // in the order of nodes
}

// An arrival is the planned pods of a group while they are placed.
type arrival struct {
	*group
	needs  *affinityCount // nil if the class has no affinity
	limits []*spreadCount
	next   int // how many pods of the group are placed or refused
}

// newReplay returns a replay in which no planned pod is placed yet.
func newReplay(c *cluster) *replay {
	r := &replay{
		cluster: c, affinity: make(map[string]*affinityCount), spread: make(map[string]*spreadCount),
		eligible: make(map[string]*eligibility), domains: make(map[string]*keyDomains),
	}
	for _, g := range c.plannedGroups() {
		a := &arrival{group: g, limits: r.spreadCountsOf(g.class)}
		if len(g.class.rules.affinity) > 0 {
			a.needs = r.affinityCountOf(g.class.rules)
		}
		r.arrivals = append(r.arrivals, a)
	}
	for _, n := range c.nodes {
		for _, g := range n.groups {
			g.addPresent()
		}
	}
	for _, a := range r.arrivals {
		r.checkSettled(a)
	}
	return r
}

// addPresent counts the pods of the group that are there before any planned pod.
func (g *group) addPresent() {
	for _, a := range g.class.affinityCounts {
		a.add(g.node, len(g.running), true)
		for _, d := range g.daemons {
			a.add(g.node, 1, d.Presence == Certain)
		}
	}
	for _, c := range g.class.spreadCounts {
		c.add(g.node, g.node.domain(c.topologyKey), g.lasting, true)
		for _, d := range g.daemons {
			c.add(g.node, g.node.domainWith(d.Set.Selector, c.topologyKey), 1, d.Presence == Certain)
		}
	}
}

// checkSettled reports an arrival on a node that may lack a topology key of its rules.
func (r *replay) checkSettled(a *arrival) {
	if key, ok := settled(a.node, a.limits); !ok {
		r.cluster.reportUnsettled(Spread, a.group, key)
	}
	for _, t := range a.class.rules.affinity {
		if _, ok := a.node.certainDomain(t.topologyKey); !ok {
			r.cluster.reportUnsettled(Affinity, a.group, t.topologyKey)
			return
		}
	}
}

// run places the pods of the order, then all others.
func (r *replay) run(order []*corev1.Pod) {
	of := make(map[*corev1.Pod]*arrival)
	for _, a := range r.arrivals {
		for _, p := range a.planned {
			of[p] = a
		}
	}
	for _, p := range order {
		a := of[p]
		if a == nil {
			continue
		}
		delete(of, p)
		if reason := a.refused(true); reason != nil {
			reason.report(r.cluster, p)
			a.next++
		} else {
			a.place()
		}
	}
	r.placeRest(of)
}

// placeRest places the pods that are not in the order. Pods with spread constraints go first, since the other pods may be placed
// later without harm. Pods that need kube-scheduler's first-pod rule go last. What is left is reported.
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
		reason := a.refused(true)
		for _, p := range a.planned {
			if left[p] != nil && a.next < len(a.planned) {
				reason.report(r.cluster, p)
				a.next++
			}
		}
	}
}

// placeNext places pods of the arrivals that are not refused and reports whether there were any. As long as pods with spread
// constraints are refused, pods without are placed one at a time. firstPod allows kube-scheduler's first-pod rule.
func placeNext(rest []*arrival, firstPod bool) (placed bool) {
	blocked := false
	for _, a := range rest {
		single := blocked && len(a.limits) == 0
		if single && placed {
			return true
		}
		for a.next < len(a.planned) && a.refused(firstPod) == nil {
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

// place adds one pod to all counts that select it.
func (a *arrival) place() {
	a.next++
	for _, c := range a.class.affinityCounts {
		c.add(a.node, 1, true)
	}
	for _, c := range a.class.spreadCounts {
		c.add(a.node, a.node.domain(c.topologyKey), 1, true)
	}
}

// A reason is why a pod cannot be placed now.
type reason struct {
	*arrival
	limit  *spreadCount // nil if affinity is the reason
	excess excess
}

// refused returns why the next pod cannot be placed; nil if it can. firstPod allows kube-scheduler's first-pod rule.
func (a *arrival) refused(firstPod bool) *reason {
	if a.unsettled {
		return nil
	}
	for _, c := range a.limits {
		if e, ok := c.exceeded(a.node, a.class); ok {
			return &reason{a, c, e}
		}
	}
	if a.needs == nil || a.needs.met(a.node) || firstPod && a.needs.firstPod(a.class) {
		return nil
	}
	return &reason{arrival: a}
}

func (r *reason) report(c *cluster, pod *corev1.Pod) {
	if r.limit == nil {
		for _, t := range r.needs.terms {
			if values := r.node.domain(t.topologyKey); len(values) > 1 {
				c.report(Affinity, r.node, pod, "the value of %s is not settled: any of %q", t.topologyKey, values)
				return
			}
		}
		c.report(Affinity, r.node, pod, "no pod that its required affinity selects is certain to be in its domain when it is placed")
		return
	}
	c.report(Spread, r.node, pod, "with it %s %q may hold %d matching pods, the emptiest domain %d: maxSkew is %d",
		r.limit.topologyKey, r.excess.value, r.excess.most, r.excess.least, r.limit.maxSkew)
}
