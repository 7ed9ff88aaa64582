package pack

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// A bar is the domain of a pod that runs, and with which the pods of a daemon cannot be.
type bar struct {
	key   int
	value string
}

// learnBars finds the domains that running pods keep daemons out of, by their own anti-affinity, the daemon's, or host ports,
// and whom else the daemons must be apart from.
func (p *problem) learnBars() {
	wanted := map[int][]*hand{}
	ported := false
	for _, h := range p.hands {
		h.bars, h.ports = map[bar]bool{}, portsOf(&h.daemon.Pod.Object.Spec)
		ported = ported || len(h.ports) > 0
		for _, t := range h.terms {
			wanted[t] = append(wanted[t], h)
			h.foes = append(h.foes, foes{key: p.keyOf(p.book.Term(t).Key), values: map[string]bool{}})
		}
	}
	if !p.keepsAway() && len(p.bans) == 0 && !ported {
		return
	}
	for _, n := range p.snapshot.Nodes() {
		if n.Deleting {
			continue
		}
		for _, pod := range n.Pods {
			if !p.moving[pod.Key] {
				p.barBy(pod, n, wanted)
			}
		}
	}
	p.barByBans()
	if len(wanted) > 0 {
		p.learnFoes(wanted)
	}
}

// barBy keeps the daemons that want to be apart from a running pod out of its domains.
func (p *problem) barBy(pod *model.Pod, n *model.Node, wanted map[int][]*hand) {
	for _, t := range p.wantedTerms(pod.Object, wanted) {
		for _, h := range wanted[t] {
			if r := h.foesBy(t); r.key != hostKey { // a pod that runs comes to no other node
				p.trackAt(r, n)
			}
			if !owns(h.daemon, pod) {
				p.barAt(h, t, n, !pod.Terminating())
			}
		}
	}
	own := portsOf(&pod.Object.Spec)
	if len(own) == 0 {
		return
	}
	for _, h := range p.hands {
		if slices.ContainsFunc(h.ports, func(q port) bool { return slices.ContainsFunc(own, q.clash) }) && !owns(h.daemon, pod) {
			h.bar(bar{hostKey, n.Name}, !pod.Terminating())
		}
	}
}

// barByBans keeps daemons out of the domains of running pods that want to be apart from them.
func (p *problem) barByBans() {
	for _, h := range p.hands {
		o := h.daemon.Pod.Object
		terms := p.book.Selecting(nil, o.Namespace, o.Labels)
		for _, b := range p.bans {
			n, known := p.snapshot.NodeByName(b.node)
			if !known || n.Deleting {
				continue
			}
			for _, t := range b.terms {
				if slices.Contains(terms, t) {
					p.barAt(h, t, n, !b.terminating)
				}
			}
		}
	}
}

func (p *problem) barAt(h *hand, term int, n *model.Node, firm bool) {
	key := p.keyOf(p.book.Term(term).Key)
	if key == hostKey {
		h.bar(bar{key, n.Name}, firm)
	} else if v, ok := n.Labels[p.keys[key].label]; ok {
		h.bar(bar{key, v}, firm)
		h.widely = true
	}
}

// bar keeps the daemon out of a domain, for good if it is firm and else for a while.
func (h *hand) bar(b bar, firm bool) { h.bars[b] = h.bars[b] || firm }

// barred reports whether running pods keep the daemon off nodes with these labels, or off n: for good, or for a while or if the
// node turns out to be in their domain.
func (p *problem) barred(h *hand, reqs require.Set, n *model.Node) (firmly, doubtful bool) {
	for b, firm := range h.bars {
		if b.key == hostKey {
			here := n != nil && n.Name == b.value
			firmly, doubtful = firmly || here && firm, doubtful || here && !firm
			continue
		}
		r, ok := reqs.Get(p.keys[b.key].label)
		switch {
		case !ok:
			doubtful = doubtful || (n == nil || !n.Registered) && p.opts.wellKnown(p.keys[b.key].label)
		case r.Has(b.value) && r.Operator() == corev1.NodeSelectorOpIn && r.Len() == 1:
			firmly, doubtful = firmly || firm, doubtful || !firm
		default:
			doubtful = doubtful || r.Has(b.value)
		}
	}
	return firmly, doubtful
}

// outOf reports whether running pods keep the daemon out of domain d for good.
func (p *problem) outOf(h *hand, key, d int) bool {
	k := p.keys[key]
	firmly, _ := p.barred(h, require.NewSet(require.New(k.label, require.In, k.names[d])), nil)
	return firmly
}

// apartFromSome reports whether anti-affinity of its own may keep the daemon off nodes that it selects: somebody is there, or
// may come, whom it must be apart from.
func (p *problem) apartFromSome(h *hand) bool {
	return slices.ContainsFunc(h.foes, func(r foes) bool {
		return r.some() && (r.key == hostKey || p.everSet(p.keys[r.key].label))
	})
}

// mayBeApart reports whether its anti-affinity may keep the daemon off a node with these labels, which is n unless it is to come.
func (p *problem) mayBeApart(h *hand, reqs require.Set, n *model.Node) bool {
	for i := range h.foes {
		if p.near(&h.foes[i], reqs, n) {
			return true
		}
	}
	return false
}

// mayBeWithItself reports whether a node with these labels, which is n unless it is to come, may share a domain with others on which
// the daemon must not be then.
func (p *problem) mayBeWithItself(h *hand, reqs require.Set, n *model.Node) bool {
	return slices.ContainsFunc(h.foes, func(r foes) bool {
		if !r.own {
			return false
		}
		label := p.keys[r.key].label
		have, ok := reqs.Get(label)
		if !ok {
			return (n == nil || !n.Registered) && p.opts.wellKnown(label)
		}
		return have.Operator() != require.DoesNotExist
	})
}

// everSet reports whether some node has the label, or may.
func (p *problem) everSet(label string) bool {
	in := func(reqs require.Set) bool { _, ok := reqs.Get(label); return ok }
	return slices.ContainsFunc(p.snapshot.Nodes(), func(n *model.Node) bool {
		_, ok := n.Labels[label]
		return ok || !n.Launched() && in(n.Wishes())
	}) || slices.ContainsFunc(p.snapshot.Pools(), func(pool *model.Pool) bool {
		_, ok := pool.Labels[label]
		return ok || in(pool.Requirements) || slices.ContainsFunc(p.snapshot.Types(pool.Name), func(t *model.InstanceType) bool {
			return in(t.Requirements) || slices.ContainsFunc(t.Offerings, func(o model.Offering) bool { return in(o.Requirements) })
		})
	})
}
