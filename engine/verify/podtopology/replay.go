package podtopology

import (
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/selection"

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
	counts   map[string]*count       // by rule
	byLabel  map[string][]*count     // by a label "key=value" of the pods that their terms select (see file)
	eligible map[string]*eligibility // by eligibilityID
	planned  []*pod                  // in the order of nodes
	found    []Violation
}

// A pod is a pod on a node of the cluster after the plan.
type pod struct {
	object *corev1.Pod
	node   *Node
	rules  *podRules
	// daemon is set for the pod of a DaemonSet that the node does not run yet.
	daemon *Daemon
	// counts are the counts that include the pod, excluding those of pods with an anti-affinity term that selects it.
	counts, excluding []*count
	// done is true if the pod is placed or reported.
	done bool
}

// newReplay returns a replay in which no planned pod is placed.
func newReplay(rules *Rules, nodes []*Node) *replay {
	r := &replay{
		nodes: nodes, counts: make(map[string]*count), byLabel: make(map[string][]*count), eligible: make(map[string]*eligibility),
	}
	var present []*pod
	for _, n := range nodes {
		n.domains = make(map[string]domain)
		for _, p := range n.Running {
			present = append(present, &pod{object: p, node: n, rules: rules.of(p)})
		}
		for i := range n.Daemons {
			d := &n.Daemons[i]
			d.Certain = d.Certain && !rules.mayExclude(d.Pod)
			present = append(present, &pod{object: d.Pod, node: n, rules: rules.of(d.Pod), daemon: d})
		}
		for _, p := range n.Planned {
			r.planned = append(r.planned, &pod{object: p.Object, node: n, rules: rules.of(p.Object)})
		}
	}
	all := slices.Concat(present, r.planned)
	for _, p := range all {
		r.countHolders(p.rules)
	}
	for _, p := range r.planned {
		r.countSelected(p.rules)
	}
	for _, p := range all {
		r.findCounts(p)
	}
	for _, p := range present {
		p.add()
	}
	return r
}

// countHolders creates the counts of the pods with the anti-affinity terms of the rules, unless they exist.
func (r *replay) countHolders(rules *podRules) {
	for _, t := range rules.antiAffinity[len(rules.holders):] {
		c := &count{topologyKey: t.topologyKey, terms: []*term{t}, holders: true}
		rules.holders = append(rules.holders, r.shared(fmt.Sprintf("holders %p", t), c))
	}
}

// countSelected creates the counts of the pods that the rules select, unless they exist.
func (r *replay) countSelected(rules *podRules) {
	if len(rules.limits)+len(rules.needs)+len(rules.avoids) > 0 {
		return
	}
	for _, s := range rules.spread {
		id := s.eligibilityID(rules)
		if r.eligible[id] == nil {
			r.eligible[id] = s.eligibility(rules, r.nodes)
		}
		c := &count{topologyKey: s.topologyKey, terms: []*term{s.term}, eligible: r.eligible[id]}
		rules.limits = append(rules.limits, r.shared(fmt.Sprintf("spread %p %s", s.term, id), c))
	}
	for _, t := range rules.affinity {
		c := &count{topologyKey: t.topologyKey, terms: rules.affinity, affinity: true}
		rules.needs = append(rules.needs, r.shared(fmt.Sprintf("affinity %v %s", rules.affinity, t.topologyKey), c))
	}
	for _, t := range rules.antiAffinity {
		c := &count{topologyKey: t.topologyKey, terms: []*term{t}}
		rules.avoids = append(rules.avoids, r.shared(fmt.Sprintf("antiAffinity %p", t), c))
	}
}

// shared returns the count with that id. If there is none, it is c.
func (r *replay) shared(id string, c *count) *count {
	if known, ok := r.counts[id]; ok {
		return known
	}
	c.domains = make(map[string]domainCount)
	r.counts[id] = c
	r.file(c)
	return c
}

// file adds the count to byLabel. If its first term requires one of several values of a label, it is filed under each of them,
// otherwise under the empty text. Of several such labels, the one with the fewest counts is used.
func (r *replay) file(c *count) {
	requirements, selectable := c.terms[0].selector.Requirements()
	if !selectable {
		return
	}
	texts, fewest := []string{""}, math.MaxInt
	for _, q := range requirements {
		switch q.Operator() {
		case selection.In, selection.Equals, selection.DoubleEquals:
			var some []string
			filed := 0
			for v := range q.Values() {
				some = append(some, q.Key()+"="+v)
				filed += len(r.byLabel[q.Key()+"="+v])
			}
			if filed < fewest {
				texts, fewest = some, filed
			}
		}
	}
	for _, text := range texts {
		r.byLabel[text] = append(r.byLabel[text], c)
	}
}

// findCounts sets counts and excluding of the pod.
func (r *replay) findCounts(p *pod) {
	texts := []string{""}
	for key, v := range p.object.Labels {
		texts = append(texts, key+"="+v)
	}
	slices.Sort(texts)
	p.counts = slices.Clone(p.rules.holders)
	for _, text := range texts {
		for _, c := range r.byLabel[text] {
			switch {
			case !p.selectedBy(c.terms...):
			case c.holders:
				p.excluding = append(p.excluding, c)
			default:
				p.counts = append(p.counts, c)
			}
		}
	}
}

// selectedBy reports whether each of the terms selects the pod.
func (p *pod) selectedBy(terms ...*term) bool {
	return !slices.ContainsFunc(terms, func(t *term) bool { return !t.matches(p.object.Namespace, p.object.Labels) })
}

// run places the pods of the order, then all others.
func (r *replay) run(order []*model.Pod) {
	of := make(map[*corev1.Pod]*pod)
	for _, p := range r.planned {
		of[p.object] = p
	}
	for _, o := range order {
		p := of[o.Object]
		if p == nil || p.done {
			continue
		}
		if no := p.refusal(true); no != nil {
			r.report(p, no)
		} else {
			p.place()
		}
	}
	r.placeRest()
}

// placeRest places the pods that are not in the order, and reports those that cannot be placed. Pods with spread
// constraints come first, because other pods can be placed later. Pods that need the first-pod rule come last.
func (r *replay) placeRest() {
	rest := slices.Clone(r.planned)
	slices.SortStableFunc(rest, func(a, b *pod) int { return min(1, len(b.rules.spread)) - min(1, len(a.rules.spread)) })
	for placeNext(rest, false) || placeNext(rest, true) {
		rest = slices.DeleteFunc(rest, func(p *pod) bool { return p.done })
	}
	for _, p := range rest {
		if !p.done {
			r.report(p, p.refusal(true))
		}
	}
}

// placeNext places pods that are not refused, and reports whether there were any. While pods with spread constraints
// are refused, other pods are placed one at a time. firstPod enables the first-pod rule.
func placeNext(rest []*pod, firstPod bool) (placed bool) {
	blocked := false
	for _, p := range rest {
		switch {
		case p.done || blocked && placed && len(p.rules.spread) == 0:
		case p.refusal(firstPod) == nil:
			p.place()
			placed = true
		default:
			blocked = blocked || len(p.rules.spread) > 0
		}
	}
	return placed
}

func (r *replay) report(p *pod, v *Violation) {
	v.Node, v.Pod, p.done = p.node.Name, p.object.Namespace+"/"+p.object.Name, true
	r.found = append(r.found, *v)
}

func (p *pod) place() {
	p.add()
	p.done = true
}

// add adds the pod to all counts that include it. Spread constraints do not count a pod that is being deleted.
func (p *pod) add() {
	for _, c := range p.counts {
		switch {
		case p.daemon != nil:
			c.add(p.node, p.node.valuesWith(p.daemon.Selector, c.topologyKey), p.daemon.Certain)
		case c.eligible == nil || p.object.DeletionTimestamp == nil:
			c.add(p.node, p.node.domain(c.topologyKey).values, true)
		}
	}
}
