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
	kinds    *kinds
	counts   map[string]*count       // by rule
	eligible map[string]*eligibility // by eligibilityID
	planned  []*pod                  // in the order of nodes
	found    []Violation
}

// A pod is a pod on a node of the cluster after the plan.
type pod struct {
	object *corev1.Pod
	node   *Node
	rules  *podRules
	kind   *kind
	// daemon is set for the pod of a DaemonSet that the node does not run yet.
	daemon *Daemon
	// done is true if the pod is placed or reported.
	done bool
}

// newReplay returns a replay in which no planned pod is placed.
func newReplay(rules *Rules, nodes []*Node) *replay {
	r := &replay{
		nodes: nodes, kinds: newKinds(rules.terms),
		counts: make(map[string]*count), eligible: make(map[string]*eligibility),
	}
	var present []*pod
	read := func(list *[]*pod, object *corev1.Pod, n *Node, d *Daemon) {
		*list = append(*list, &pod{object: object, node: n, rules: rules.of(object), kind: r.kinds.of(object), daemon: d})
	}
	for _, n := range nodes {
		n.domains = make(map[string]domain)
		for _, p := range n.Running {
			read(&present, p, n, nil)
		}
		for i := range n.Daemons {
			d := &n.Daemons[i]
			d.Certain = d.Certain && !rules.mayExclude(d.Pod)
			read(&present, d.Pod, n, d)
		}
		for _, p := range n.Planned {
			read(&r.planned, p.Object, n, nil)
		}
	}
	for _, p := range slices.Concat(present, r.planned) {
		r.countHolders(p.rules)
	}
	for _, p := range r.planned {
		r.countSelected(p.rules)
	}
	for _, p := range present {
		p.add()
	}
	return r
}

// countHolders creates the counts of the pods with the anti-affinity terms of the rules, unless they exist.
func (r *replay) countHolders(rules *podRules) {
	for _, t := range rules.antiAffinity[len(rules.holders):] {
		id := fmt.Sprintf("holders %p", t)
		if r.counts[id] == nil {
			r.counts[id] = newCount(t)
			for _, k := range r.kinds.selectedBy(t) {
				k.excluding = append(k.excluding, r.counts[id])
			}
		}
		rules.holders = append(rules.holders, r.counts[id])
	}
}

// countSelected creates the counts of the pods that the rules select, unless they exist.
func (r *replay) countSelected(rules *podRules) {
	if len(rules.limits)+len(rules.needs)+len(rules.avoids) > 0 {
		return
	}
	of := func(id string, c *count, terms ...*term) *count {
		if r.counts[id] == nil {
			r.counts[id] = c
			for _, k := range r.kinds.selectedBy(terms...) {
				k.counts = append(k.counts, c)
			}
		}
		return r.counts[id]
	}
	for _, s := range rules.spread {
		id := s.eligibilityID(rules)
		if r.eligible[id] == nil {
			r.eligible[id] = s.eligibility(rules, r.nodes)
		}
		c := newCount(s.term)
		c.eligible = r.eligible[id]
		rules.limits = append(rules.limits, of(fmt.Sprintf("spread %p %s", s.term, id), c, s.term))
	}
	for _, t := range rules.affinity {
		c := newCount(t)
		c.affinity = true
		rules.needs = append(rules.needs, of(fmt.Sprintf("affinity %v %p", rules.affinity, t), c, rules.affinity...))
	}
	for _, t := range rules.antiAffinity {
		rules.avoids = append(rules.avoids, of(fmt.Sprintf("antiAffinity %p", t), newCount(t), t))
	}
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
	for _, counts := range [][]*count{p.kind.counts, p.rules.holders} {
		for _, c := range counts {
			switch {
			case p.daemon != nil:
				c.add(p.node, p.node.valuesWith(p.daemon.Selector, c.topologyKey), p.daemon.Certain)
			case c.eligible == nil || p.object.DeletionTimestamp == nil:
				c.add(p.node, p.node.domain(c.topologyKey).values, true)
			}
		}
	}
}
