package podtopology

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// Check returns the violations of all rules. nodes are all nodes of the cluster after the plan. order is the sequence in
// which planned pods are placed; pods that it omits are placed afterwards. Only planned pods are reported, even if the
// anti-affinity of another pod is broken.
func (rs *Rules) Check(nodes []*Node, order []*model.Pod) []Violation {
	r := newReplay(rs, nodes)
	r.run(order)
	return r.found
}

// A replay places the planned pods one after another, as kube-scheduler would, and reports pods that a rule excludes
// from their node. Running pods and DaemonSet pods are present from the start.
type replay struct {
	nodes    []*Node
	classes  *classes
	counts   map[string]*count       // by rule
	eligible map[string]*eligibility // by eligibilityID
	planned  []*group                // the groups with planned pods, in the order of nodes
	found    []Violation
}

// newReplay returns a replay in which no planned pod is placed.
func newReplay(rules *Rules, nodes []*Node) *replay {
	r := &replay{
		nodes: nodes, classes: newClasses(rules),
		counts: make(map[string]*count), eligible: make(map[string]*eligibility),
	}
	for _, n := range nodes {
		n.domains = make(map[string]domain)
		for _, g := range r.classes.groupsOf(n) {
			if len(g.planned) > 0 {
				r.planned = append(r.planned, g)
			}
		}
	}
	for _, k := range r.classes.all {
		r.countHolders(k)
	}
	for _, g := range r.planned {
		r.addCounts(g.class)
	}
	for _, k := range r.classes.all {
		for _, g := range k.groups {
			for _, counted := range k.counts {
				counted.addPresent(g)
			}
		}
	}
	return r
}

// addCounts adds the counts of the rules of the class, unless it has them already.
func (r *replay) addCounts(k *class) {
	if len(k.limits)+len(k.needs)+len(k.avoids) > 0 {
		return
	}
	rules := k.rules
	for _, s := range rules.spread {
		id := s.eligibilityID(rules)
		if r.eligible[id] == nil {
			r.eligible[id] = s.eligibility(rules, r.nodes)
		}
		k.limits = append(k.limits, r.countSelected("spread "+s.id+" "+id, s.term, &count{eligible: r.eligible[id]}, nil))
	}
	for _, t := range rules.affinity {
		id := fmt.Sprintf("affinity %q %s", idsOf(rules.affinity), t.id)
		k.needs = append(k.needs, r.countSelected(id, t, &count{affinity: true}, rules.affinity))
	}
	k.selectsItself = k.matchesAll(rules.affinity)
	for _, t := range rules.antiAffinity {
		k.avoids = append(k.avoids, r.countSelected("antiAffinity "+t.id, t, &count{}, nil))
	}
}

// newCount returns the count with that id, and whether it is new. Otherwise an earlier call has created it.
func (r *replay) newCount(id string, t *term, empty *count) (c *count, isNew bool) {
	if known, ok := r.counts[id]; ok {
		return known, false
	}
	empty.topologyKey, empty.domains = t.topologyKey, make(map[string]domainCount)
	r.counts[id] = empty
	return empty, true
}

// countSelected returns the count of the pods that the term selects and also all of the terms in others. id identifies the
// count. If it does not exist yet, it is empty.
func (r *replay) countSelected(id string, t *term, empty *count, others []*term) *count {
	c, isNew := r.newCount(id, t, empty)
	if isNew {
		for _, k := range r.classes.selectedBy(t) {
			if k.matchesAll(others) {
				k.counts = append(k.counts, c)
			}
		}
	}
	return c
}

// countHolders creates, for each anti-affinity term of the class, a count of the pods that have the term. It adds the
// count to excluding of each class that the term selects. A pod with two equal terms counts twice, which makes no difference.
func (r *replay) countHolders(k *class) {
	for _, t := range k.rules.antiAffinity {
		c, isNew := r.newCount("holders "+t.id, t, &count{})
		if isNew {
			for _, selected := range r.classes.selectedBy(t) {
				selected.excluding = append(selected.excluding, c)
			}
		}
		k.counts = append(k.counts, c)
	}
}

func (r *replay) report(g *group, pod *corev1.Pod, v Violation) {
	v.Node, v.Pod = g.node.Name, pod.Namespace+"/"+pod.Name
	r.found = append(r.found, v)
}

// run places the pods of the order, then all others.
func (r *replay) run(order []*model.Pod) {
	left := make(map[*corev1.Pod]*group)
	for _, g := range r.planned {
		for _, p := range g.planned {
			left[p] = g
		}
	}
	for _, p := range order {
		g := left[p.Object]
		if g == nil {
			continue
		}
		delete(left, p.Object)
		if no := g.refusal(true); no != nil {
			r.report(g, p.Object, *no)
			g.next++
		} else {
			g.place()
		}
	}
	r.placeRest(left)
}

// placeRest places the pods that are not in the order, and reports those that cannot be placed. Pods with spread
// constraints come first, because other pods can be placed later. Pods that need the first-pod rule come last.
func (r *replay) placeRest(left map[*corev1.Pod]*group) {
	rest := slices.Clone(r.planned)
	slices.SortStableFunc(rest, func(a, b *group) int { return min(1, len(b.class.limits)) - min(1, len(a.class.limits)) })
	for placeNext(rest, false) || placeNext(rest, true) {
		rest = slices.DeleteFunc(rest, func(g *group) bool { return g.next == len(g.planned) })
	}
	for _, g := range rest {
		for _, p := range g.planned {
			if no := g.refusal(true); left[p] != nil && g.next < len(g.planned) {
				r.report(g, p, *no)
				g.next++
			}
		}
	}
}

// placeNext places pods that are not refused, and reports whether there were any. While pods with spread constraints
// are refused, other pods are placed one at a time. firstPod enables the first-pod rule.
func placeNext(rest []*group, firstPod bool) (placed bool) {
	blocked := false
	for _, g := range rest {
		single := blocked && len(g.class.limits) == 0
		for g.next < len(g.planned) && !(single && placed) && g.refusal(firstPod) == nil {
			g.place()
			placed = true
		}
		blocked = blocked || len(g.class.limits) > 0 && g.next < len(g.planned)
	}
	return placed
}

// place adds the next pod of the group to all counts that include its class.
func (g *group) place() {
	g.next++
	for _, c := range g.class.counts {
		c.add(g.node, g.node.domain(c.topologyKey).values, 1, true)
	}
}
