package pack

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// A foresight is what daemons will be on new nodes, as the attempt before left it: domains that nodes share fill with daemons'
// pods as nodes are opened there, which nobody knows before. The next attempt takes it for granted, until it comes true. Slices
// are by group.
type foresight []foreseen

// foreseen is a foresight about one group, by domain.
type foreseen struct {
	present, sure []int32
	closed        []bool // to pods of the group
	total         int
	// counts are the domains that have nodes, of a group that is spread; nil if no daemon counts.
	counts []bool
}

// at returns what is foreseen about a group in domain d.
func (f foreseen) at(d int) (present, sure int32, closed bool) {
	if d >= len(f.present) {
		return 0, 0, false
	}
	return f.present[d], f.sure[d], f.closed[d]
}

// foresee takes daemons on new nodes for granted.
func (p *problem) foresee(f foresight) {
	if len(p.hands) == 0 {
		return
	}
	p.taken = f
	for _, g := range p.groups {
		g.before = foreseen{present: slices.Clone(g.present), sure: slices.Clone(g.sure)}
	}
	for i := range f {
		g := p.groups[i]
		g.take(f[i])
		if f[i].counts != nil {
			copy(g.counts, f[i].counts) // a node in another would bring daemons too
		}
		for d, closed := range f[i].closed {
			if closed {
				g.limit[d] = 0
			}
		}
	}
}

// take counts pods of daemons.
func (g *group) take(f foreseen) {
	g.total += f.total
	if g.kind == topology.Near {
		return // they may never come if nobody else asks for their nodes
	}
	for d := range f.present {
		g.present[d] += f.present[d]
		g.sure[d] += f.sure[d]
	}
}

// lookBack returns what daemons there are on the nodes that were opened, and the classes with pods that counted on something
// else.
func (p *problem) lookBack() (foresight, []*class) {
	if len(p.hands) == 0 {
		return nil, nil
	}
	now := p.onOpened()
	var wrong []*class
	for i, g := range p.groups {
		switch {
		case g.kind == topology.Spread && g.key != hostKey && now[i].total > 0:
			now[i].counts = p.inhabited(g)
		case g.first.class != nil && p.gathered(i):
			now[i].total = 0 // they keep nobody from being the first again
		}
	}
	uneven := p.uneven(now)
	for _, c := range p.classes {
		if c.next+len(c.promised) > 0 && c.refusal.OK() && (uneven[c] || p.surprises(c, now)) {
			wrong = append(wrong, c)
		}
	}
	for i, g := range p.groups {
		if i >= len(p.taken) {
			break
		}
		now[i].total = max(now[i].total, p.taken[i].total)
		for d := range now[i].present {
			present, _, closed := p.taken[i].at(d)
			now[i].closed[d] = now[i].closed[d] || closed
			if g.kind == topology.Apart { // else who avoids a domain and who fills it might go round for ever
				now[i].present[d] = max(now[i].present[d], present)
			}
		}
	}
	return now, wrong
}

// onOpened returns what daemons there are on the nodes that were opened.
func (p *problem) onOpened() foresight {
	now := make(foresight, len(p.groups))
	for i, g := range p.groups {
		n := len(g.present)
		now[i] = foreseen{present: make([]int32, n), sure: make([]int32, n), closed: make([]bool, n)}
	}
	for _, o := range p.nodes {
		for _, m := range p.crewUnder(o) {
			for _, i := range m.hand.members {
				p.expect(&now[i], p.groups[i], o, m)
			}
			for _, i := range m.hand.bans {
				for _, d := range p.roaming(m.hand, p.groups[i].key, p.domainsUnder(o, p.groups[i].key)) {
					now[i].closed[d] = now[i].closed[d] || !p.outOf(m.hand, p.groups[i].key, d)
				}
			}
		}
	}
	return now
}

// inhabited returns the domains of nodes that are there or were opened, as far as they count for the group.
func (p *problem) inhabited(g *group) []bool {
	kept := g.counts
	defer func() { g.counts = kept }()
	g.counts = make([]bool, len(g.counts))
	for _, t := range p.everywhere {
		if !t.node.Deleting {
			p.mark(g, t)
		}
	}
	for _, o := range p.nodes {
		if how := p.countingOn(g, o.shelf, shelfFit{flavour: o.flavour, holds: o.flavour.allowed}); how != countsNot && !p.lacks(o, g) {
			for _, d := range p.domainsUnder(o, g.key) {
				g.counts[d] = true
			}
		}
	}
	return g.counts
}

// lacks reports whether an opened node is without a label by which the group's pods must be spread too.
func (p *problem) lacks(o *opened, g *group) bool {
	return slices.ContainsFunc(g.with, func(key int) bool {
		return key != hostKey && !p.vague[key] && len(p.domainsUnder(o, key)) == 0
	})
}

// expect counts a pod of a daemon on an opened node.
func (p *problem) expect(f *foreseen, g *group, o *opened, m crewman) {
	f.total++
	if g.key == hostKey {
		return
	}
	how := counts
	if g.kind == topology.Spread {
		how = p.countingOn(g, o.shelf, shelfFit{flavour: o.flavour, holds: o.flavour.allowed})
		if p.lacks(o, g) {
			how = countsNot
		}
	}
	if how == countsNot {
		return
	}
	list := p.roaming(m.hand, g.key, p.domainsUnder(o, g.key))
	for _, d := range list {
		f.present[d]++
		if m.certain && how == counts && len(list) == 1 {
			f.sure[d]++
		}
	}
}

// maybe returns the shapes that an opened node may be launched in: those that suit all its pods and draw on its reservation, if it
// has one.
func (o *opened) maybe() mask {
	out := o.flavour.allowed
	if from := o.shelf.pool.drawing; from != nil {
		out = out.and(from[o.shelf.pool.shapes[o.shape].reserved])
	}
	for _, part := range o.share {
		if on := part.lot.choice.fit.on[o.shelf.index]; on.flavour != nil {
			out = out.and(on.holds)
		}
	}
	return out
}

// A crewKey is what the daemons of an opened node depend on.
type crewKey struct {
	flavour *flavour
	shapes  string
}

// crewUnder returns the daemons that an opened node will have, whatever it is launched as.
func (p *problem) crewUnder(o *opened) []crewman {
	shapes := o.maybe()
	key := crewKey{o.flavour, string(shapes.bytes())}
	if crew, ok := p.crews[key]; ok {
		return crew
	}
	var crew []crewman
	first := true
	shapes.each(func(j int) {
		on := p.crewOn(o.shelf, o.flavour, j)
		if first {
			crew, first = on, false
		} else {
			crew = merge(crew, on)
		}
	})
	if p.crews == nil {
		p.crews = map[crewKey][]crewman{}
	}
	p.crews[key] = crew
	return crew
}

// domainsUnder returns the domains that an opened node may be in.
func (p *problem) domainsUnder(o *opened, key int) []int {
	k := p.keys[key]
	asked, bound := o.flavour.reqs.Get(k.label)
	seen := map[string]bool{}
	if key == hostKey {
		return nil
	}
	if bound && asked.Operator() == corev1.NodeSelectorOpIn && asked.Len() == 1 {
		seen[asked.Values()[0]] = true
	} else {
		o.maybe().each(func(j int) {
			for v := range valuesOf(o.shelf.pool.shapes[j], k.label) {
				seen[v] = seen[v] || !bound || asked.Has(v)
			}
		})
	}
	var out []int
	for d, name := range k.names {
		if seen[name] {
			out = append(out, d)
		}
	}
	return out
}

// surprises reports whether pods of c, of which some have a place, counted on other daemons than there are.
func (p *problem) surprises(c *class, now foresight) bool {
	taken := func(i int) foreseen {
		if i < len(p.taken) {
			return p.taken[i]
		}
		return foreseen{}
	}
	for _, r := range c.last().wide {
		was, is := taken(r.group), now[r.group]
		switch r.kind {
		case topology.Near:
			if p.forsaken(c, r.group) {
				return true
			}
		case topology.Apart:
			if was.grew(is) {
				return true
			}
		}
	}
	for _, r := range c.last().host {
		if r.kind == topology.Near && p.forsaken(c, r.group) {
			return true
		}
	}
	return slices.ContainsFunc(c.members, func(m int) bool {
		for d, closed := range now[m].closed {
			if _, _, before := taken(m).at(d); closed && !before {
				return true
			}
		}
		return false
	})
}

// grew reports whether there are pods in a domain that were not foreseen.
func (f foreseen) grew(now foreseen) bool {
	for d, n := range now.present {
		if before, _, _ := f.at(d); n > 0 && before == 0 {
			return true
		}
	}
	return false
}

// lose returns the pods of a class that counted on other daemons than there are which go without a place in the next attempt:
// a few of them, so that the others may have one, in the last attempt all.
func (c *class) lose(last bool) []*model.Pod {
	if last {
		return slices.Concat(c.promised, c.pods)
	}
	placed := slices.Concat(c.promised, c.pods[:c.next])
	return placed[len(placed)-max(1, len(placed)/4):]
}

// mistaken is why pods that counted on other daemons than there are go without a place.
var mistaken = []model.PoolVerdict{{Verdict: model.Verdict{
	Rule: model.RuleTopology, Subject: "pods of daemons, which come with each new node",
}}}
