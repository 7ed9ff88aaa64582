package pack

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// A hand is a daemon that somebody looks at, or that keeps others away: where it runs it is a neighbour, and it is there before
// any pod comes.
type hand struct {
	daemon *model.Daemon
	terms  []int // of its required anti-affinity, by number in the book
	// selects are the terms of which a new node must satisfy one, by labels as they are called today; none if no new node can.
	selects []require.Set
	// members are the groups that count its pods, crowds those of them that are spread over nodes, bans those whose pods it keeps
	// out of its domains.
	members, crowds, bans []int
	// shy says that something may keep it off nodes that it selects, so that nobody can rely on it. If it is nothing but its own
	// anti-affinity, it is timid: somebody can, where nodes lack the labels of that; and bound are the labels of the domains in
	// which it is everywhere or nowhere; see blocKey.
	shy, timid bool
	bound      []int
	foes       []foes // by each of its terms
	// bars are the domains that running pods keep it out of, some of them domains that nodes share if widely.
	widely bool
	bars   map[bar]bool // whether for good
	ports  []port
}

// A crewman is a hand on a node: certainly there, or maybe. A steady one only its own anti-affinity, if anything, may keep off,
// and a sole one nothing but other pods of the same daemon: it is there for certain if none of them may be in its domains.
type crewman struct {
	hand                  *hand
	certain, steady, sole bool
}

// learnHands enters what daemons keep away into the book.
func (p *problem) learnHands() {
	for _, d := range p.snapshot.Daemons() {
		if d.Object.DeletionTimestamp != nil {
			continue
		}
		h := &hand{daemon: d}
		h.selects, _ = p.requiredOf(&d.Pod.Object.Spec)
		for i, term := range h.selects {
			h.selects[i] = term.Normalize(p.opts.Labels.Aliases)
		}
		for _, t := range topology.Bans(d.Pod.Object, p.namespaces) {
			h.terms = append(h.terms, p.book.Number(t))
		}
		p.hands = append(p.hands, h)
	}
}

// keepsAway reports whether some daemon has anti-affinity.
func (p *problem) keepsAway() bool {
	return slices.ContainsFunc(p.hands, func(h *hand) bool { return len(h.terms) > 0 })
}

// joinBans adds the groups of what daemons keep away.
func (p *problem) joinBans() {
	for _, h := range p.hands {
		for _, t := range h.terms {
			i := p.addGroup(groupKey{term: t, kind: topology.Apart, strict: -1, tolerance: -1},
				&group{kind: topology.Apart, key: p.keyOf(p.book.Term(t).Key)})
			p.groups[i].hard = true
			h.bans = append(h.bans, i)
		}
	}
}

// joinHands finds the groups that count daemons' pods, and forgets the daemons that matter to nobody.
func (p *problem) joinHands() {
	p.learnBars()
	var terms []int
	for _, h := range p.hands {
		o := h.daemon.Pod.Object
		terms = p.book.Selecting(terms[:0], o.Namespace, o.Labels)
		slices.Sort(terms)
		terms = slices.Compact(terms)
		for _, t := range terms {
			h.members = append(h.members, p.byTerm[t]...)
		}
		slices.Sort(h.members)
		for _, i := range h.members {
			if g := p.groups[i]; g.key == hostKey && g.kind == topology.Spread {
				h.crowds = append(h.crowds, i)
			}
		}
		h.shy = p.kept(h, terms)
		if !h.shy && p.apartFromSome(h) {
			h.shy, h.timid, h.bound = true, true, p.binding(h, terms)
		}
	}
	p.hands = slices.DeleteFunc(p.hands, func(h *hand) bool {
		return len(h.members) == 0 && !slices.ContainsFunc(p.classes, func(c *class) bool { return meet(h.bans, c.members) })
	})
	for _, h := range p.hands {
		for i := range h.foes {
			if r := &h.foes[i]; h.timid && r.key != hostKey && !slices.Contains(p.doubted, r.key) {
				p.doubted = append(p.doubted, r.key)
			}
		}
		for _, label := range []string{corev1.LabelTopologyZone, apiv1.CapacityTypeLabelKey} {
			if !h.selectsOn(label) {
				continue
			}
			if key := p.keyOf(label); !slices.Contains(p.offers, key) {
				p.offers = append(p.offers, key)
			}
		}
	}
}

// selectsOn reports whether the daemon runs only on nodes with certain values of the label.
func (h *hand) selectsOn(label string) bool {
	return slices.ContainsFunc(h.selects, func(term require.Set) bool {
		_, ok := term.Get(label)
		return ok
	})
}

// meet reports whether two lists have something in common.
func meet(a, b []int) bool {
	return slices.ContainsFunc(a, func(x int) bool { return slices.Contains(b, x) })
}

// kept reports whether something may keep the daemon off nodes that it selects: rules of its own but for anti-affinity, those of
// others whose terms select it, a host port that another daemon takes too, volumes. Pods that run and stay are none of it: it is
// known of each node whether they do.
func (p *problem) kept(h *hand, terms []int) bool {
	spec := &h.daemon.Pod.Object.Spec
	if a := spec.Affinity; a != nil && a.PodAffinity != nil || len(spec.TopologySpreadConstraints) > 0 {
		return true
	}
	if slices.ContainsFunc(p.bans, func(b ban) bool {
		n, known := p.snapshot.NodeByName(b.node)
		return slices.ContainsFunc(b.terms, func(t int) bool {
			if !slices.Contains(terms, t) {
				return false
			}
			key := p.book.Term(t).Key
			return !known || n.Deleting && (key == corev1.LabelHostname || n.Labels[key] != "")
		})
	}) {
		return true
	}
	own := portsOf(spec)
	if slices.ContainsFunc(p.snapshot.Daemons(), func(d *model.Daemon) bool {
		if d == h.daemon {
			return false
		}
		clash := func(q port) bool { return slices.ContainsFunc(own, q.clash) }
		chosen := func(t *topology.Term) bool { return slices.Contains(terms, p.book.Number(t)) }
		return (slices.ContainsFunc(portsOf(&d.Pod.Object.Spec), clash) ||
			slices.ContainsFunc(topology.Bans(d.Pod.Object, p.namespaces), chosen)) && p.runs(d)
	}) {
		return true
	}
	return slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil || v.Ephemeral != nil })
}

// runs reports whether the daemon may have a pod on any node, there or to come.
func (p *problem) runs(d *model.Daemon) bool {
	pt, r := p.partyOfDaemon(d), &foes{key: hostKey}
	p.track(r, pt)
	return r.fresh || slices.ContainsFunc(p.snapshot.Nodes(), func(n *model.Node) bool { return !n.Deleting && p.visits(pt, n) })
}

// handOf returns the hand that a daemon is, nil if it matters to nobody.
func (p *problem) handOf(d *model.Daemon) *hand {
	i := slices.IndexFunc(p.hands, func(h *hand) bool { return h.daemon == d })
	if i < 0 {
		return nil
	}
	return p.hands[i]
}

// meets reports whether the daemon may run on a node with these labels, and others of which the key is known, surely whether it
// does.
func (r *resident) meets(reqs require.Set, known func(key string) bool) (may, surely bool) {
	if r.anywhere {
		return true, true
	}
	reqs = reqs.And(started)
	for _, t := range r.terms {
		if _, ok := reqs.Compatible(t, known); ok {
			may = true
			surely = surely || implies(defined(reqs, t, known), t)
		}
	}
	return may, surely
}

// defined returns reqs with the labels that term asks about and that no node with these labels will have said to be missing.
func defined(reqs, term require.Set, known func(key string) bool) require.Set {
	for want := range term.All() {
		if _, ok := reqs.Get(want.Key()); !ok && (known == nil || !known(want.Key())) {
			reqs = reqs.With(require.New(want.Key(), require.DoesNotExist))
		}
	}
	return reqs
}

// crewOf returns the hands among daemons that a node with these labels will have, without those whose pods run there.
func (p *problem) crewOf(residents []resident, reqs require.Set, n *model.Node) []crewman {
	var out []crewman
	known := p.opts.wellKnown
	if n != nil && n.Registered {
		known = nil // it has all labels that it gets
	}
	for i := range residents {
		r := &residents[i]
		h := p.handOf(r.daemon)
		if h == nil || n != nil && slices.ContainsFunc(n.Pods, func(pod *model.Pod) bool { return owns(r.daemon, pod) }) {
			continue
		}
		off, doubtful := p.barred(h, reqs, n)
		if off {
			continue
		}
		if may, surely := r.meets(reqs, known); may {
			steady := surely && !doubtful
			sole := steady && (!h.shy || h.timid && !p.mayBeApart(h, reqs, n))
			out = append(out, crewman{h, sole && !p.mayBeWithItself(h, reqs, n), steady, sole})
		}
	}
	return out
}

// owns reports whether the pod is one of the daemon's.
func owns(d *model.Daemon, pod *model.Pod) bool {
	return pod.Object.Namespace == d.Object.Namespace &&
		slices.ContainsFunc(pod.Object.OwnerReferences, func(o metav1.OwnerReference) bool {
			return o.Kind == "DaemonSet" && o.Name == d.Object.Name
		})
}

// merge returns the hands of either crew; certain are those that certainly are of both.
func merge(a, b []crewman) []crewman {
	out := slices.Clone(a)
	for i, m := range out {
		at := slices.IndexFunc(b, func(x crewman) bool { return x.hand == m.hand })
		out[i].certain = m.certain && at >= 0 && b[at].certain
		out[i].steady = m.steady && at >= 0 && b[at].steady
		out[i].sole = m.sole && at >= 0 && b[at].sole
	}
	for _, m := range b {
		if !slices.ContainsFunc(out, func(x crewman) bool { return x.hand == m.hand }) {
			out = append(out, crewman{hand: m.hand})
		}
	}
	return out
}

// countCrew counts the daemons' pods that t will have.
func (p *problem) countCrew(t *target) {
	if t.node.Deleting {
		return
	}
	for _, m := range t.crew {
		for _, i := range m.hand.members {
			g := p.groups[i]
			p.countHand(g, t, m)
		}
		for _, i := range m.hand.bans {
			g := p.groups[i]
			for _, d := range p.roaming(m.hand, g.key, p.domainsOf(g, t)) {
				if g.key == hostKey || !p.outOf(m.hand, g.key, d) {
					g.limit[d] = 0
				}
			}
		}
	}
}

// countHand counts a pod of a daemon on t: where it may be, for those who want to be apart from it or spread; where it
// certainly is, for those who want it near.
func (p *problem) countHand(g *group, t *target, m crewman) {
	g.total++
	certain := m.certain && t.index >= 0
	if g.kind == topology.Spread && (!t.open && !p.eligible(g, t) || !g.tolerates(t)) {
		return
	}
	settled := t.domain(g.key) >= 0
	for _, d := range p.roaming(m.hand, g.key, p.domainsOf(g, t)) {
		if g.kind != topology.Near || certain && settled {
			g.present[d]++
		} else if settled {
			g.doubt(p.blocAt(m, t), d)
		}
		if certain && settled && p.eligible(g, t) {
			g.sure[d]++
		}
	}
}

// roaming returns those of the domains that the daemon selects.
func (p *problem) roaming(h *hand, key int, domains []int) []int {
	if key == hostKey || len(domains) < 2 {
		return domains
	}
	k := p.keys[key]
	return slices.DeleteFunc(slices.Clone(domains), func(d int) bool {
		return len(h.selects) > 0 && !slices.ContainsFunc(h.selects, func(term require.Set) bool {
			r, ok := term.Get(k.label)
			return !ok || r.Has(k.names[d])
		})
	})
}

// domainsOf returns the domains that t may be in.
func (p *problem) domainsOf(g *group, t *target) []int {
	switch d := t.domain(g.key); {
	case d >= 0:
		return []int{d}
	case d == nowhere:
		return nil
	}
	var out []int
	k := p.keys[g.key]
	r, _ := t.reqs.Get(k.label)
	for d, name := range k.names {
		if r.Has(name) {
			out = append(out, d)
		}
	}
	return out
}

// crewOn returns the hands that a node of shape j will have in the flavour. The answer is remembered.
func (p *problem) crewOn(s *shelf, fl *flavour, j int) []crewman {
	if !s.choosy {
		return s.pool.shapes[j].crew
	}
	if fl.crews == nil {
		fl.crews = make([][]crewman, len(s.pool.shapes))
	}
	if fl.crews[j] == nil {
		fl.crews[j] = p.crewWithin(s, fl.reqs, j)
	}
	return fl.crews[j]
}

// crewWithin returns the hands that a node of shape j will have under requirements; never nil.
func (p *problem) crewWithin(s *shelf, reqs require.Set, j int) []crewman {
	sh := s.pool.shapes[j]
	out := []crewman{}
	first := true
	for _, o := range sh.offers {
		if _, ok := reqs.Intersects(o.Requirements); !ok {
			continue
		}
		crew := p.crewOf(s.residents, sh.reqs.And(reqs).And(o.Requirements), nil)
		if first {
			out, first = append(out, crew...), false
		} else {
			out = merge(out, crew)
		}
	}
	return out
}

// muster finds which hands come with new nodes, and what that is to pods.
func (p *problem) muster() {
	if len(p.hands) == 0 {
		return
	}
	for _, s := range p.shelves {
		for _, r := range daemonsOn(p.snapshot.Daemons(), s.pool.Taints, p.opts, true) {
			if p.handOf(r.daemon) != nil {
				s.residents = append(s.residents, r)
				s.choosy = s.choosy || !r.anywhere || p.handOf(r.daemon).widely || p.handOf(r.daemon).timid
			}
		}
		if s.choosy {
			s.crewOn = func(fl *flavour, j int) []crewman { return p.crewOn(s, fl, j) }
		}
		crew := p.crewOf(s.residents, require.Set{}, nil) // good for all shapes if nobody is choosy
		guests := guestsOf(crew)
		for j, sh := range s.pool.shapes {
			if s.choosy {
				crew = p.crewWithin(s, s.pool.Requirements, j)
				guests = guestsOf(crew)
			}
			sh.crew, sh.guests = crew, guests
		}
	}
	for i, g := range p.groups {
		if g.key == hostKey && g.kind == topology.Spread && !g.there {
			g.base, g.crowd = p.onEveryNode(i)
		}
	}
	for _, c := range p.classes {
		for i := range c.stages {
			p.beWary(c, &c.stages[i])
		}
	}
}

// guestsOf returns how many pods of the crew count for pods that are spread over nodes.
func guestsOf(crew []crewman) guests {
	var out guests
	for _, m := range crew {
		for _, i := range m.hand.crowds {
			at := slices.IndexFunc(out, func(x guest) bool { return x.group == i })
			if at < 0 {
				out = append(out, guest{group: i, limit: noLimit})
				at = len(out) - 1
			}
			out[at].present++
		}
	}
	return out
}

// onEveryNode returns how many pods of the group each node has at least, there or to come, and how many a new one has at most.
func (p *problem) onEveryNode(group int) (least, most int) {
	g := p.groups[group]
	least = noLimit
	for _, s := range p.shelves {
		for _, sh := range s.pool.shapes {
			sure, may := 0, 0
			for _, m := range sh.crew {
				if slices.Contains(m.hand.members, group) {
					may++
					if m.certain {
						sure++
					}
				}
			}
			least, most = min(least, sure), max(most, may)
		}
	}
	for _, t := range p.everywhere {
		switch {
		case least == 0 || t.node.Deleting:
		case t.index < 0:
			least = 0 // nobody has counted there
		default:
			least = min(least, int(g.sure[t.index]))
		}
	}
	if least == noLimit {
		least = 0
	}
	return least, most
}
