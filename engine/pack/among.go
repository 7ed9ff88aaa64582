package pack

import (
	"cmp"
	"slices"

	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// Where a pool's minValues take types of several domains, none of its new nodes can have its domain settled. A pod that must be
// spread, or be near others or apart from them, may have such a node all the same if it would be well in each of the domains
// that the node may come to be in: the choice leaves the domain open among those. The pod is counted as if it were in each of
// them, and in none is it relied on.

// spanning reports whether some pool may take types of several domains for its minValues.
func (p *problem) spanning() bool {
	return !p.opts.RelaxMinValues && slices.ContainsFunc(p.shelves, func(s *shelf) bool {
		for r := range s.pool.Requirements.All() {
			if r.MinValues() > 1 {
				return true
			}
		}
		return false
	})
}

// several returns the domains of the key among which the choice leaves it open, nil if it does not.
func (ch *choice) several(key int) []int {
	if i := slices.Index(ch.keys, key); i >= 0 && ch.among != nil {
		return ch.among[i]
	}
	return nil
}

// places returns the domains of the key that nodes of the choice may be in, as far as they are settled or few.
func (ch *choice) places(key int) []int {
	if d := ch.domain(key); d >= 0 {
		return []int{d}
	}
	return ch.several(key)
}

// extra returns what the choice asks of labels.
func (ch *choice) extra(p *problem) require.Set {
	in := p.inDomains(ch.keys, ch.domains)
	for i, d := range ch.domains {
		if key := ch.keys[i]; ch.escorted && d == unsettled && p.lacking[key] {
			in = in.With(require.New(p.keys[key].label, require.Exists)) // without it nobody is near anybody
		}
	}
	for i, set := range ch.among {
		if len(set) > 0 {
			k := p.keys[ch.keys[i]]
			names := make([]string, len(set))
			for j, d := range set {
				names[j] = k.names[d]
			}
			in = in.With(require.New(k.label, require.In, names...))
		}
	}
	return in
}

// allowsIn returns how many pods with this rule may go to nodes of the choice now, whichever of its domains they turn out to be in.
func (p *problem) allowsIn(r *rule, ch *choice) int {
	g := p.groups[r.group]
	set := ch.several(g.key)
	if len(set) == 0 {
		return p.allows(r, ch.domain(g.key))
	}
	return p.allowsAll(r, set)
}

// allowsAll returns how many pods with this rule may go to nodes that may turn out to be in any of the domains. Of pods that want to
// be with their like that is only the first: the next would not know where.
func (p *problem) allowsAll(r *rule, set []int) int {
	n := noLimit
	for _, d := range set {
		n = min(n, p.allows(r, d))
		if r.kind == topology.Near && p.groups[r.group].present[d] == 0 {
			n = min(n, 1)
		}
	}
	return n
}

// spareIn returns how many members those bear that are in the choice's domains already.
func (g *group) spareIn(ch *choice) int {
	set := ch.several(g.key)
	if len(set) == 0 {
		return g.spare(ch.domain(g.key))
	}
	n := noLimit
	for _, d := range set {
		n = min(n, g.spare(d))
	}
	return n
}

// countIn counts n members on nodes of the choice; see count.
func (g *group) countIn(ch *choice, n int, sure bool) {
	set := ch.several(g.key)
	if len(set) == 0 {
		g.count(ch.domain(g.key), n, sure)
		return
	}
	g.total += n
	for _, d := range set {
		if g.kind != topology.Near {
			g.present[d] += int32(n)
		}
	}
}

// assignAmong gives pods of c nodes of which the domain is left open among several.
func (p *problem) assignAmong(c *class, s *stage) {
	for c.left() > 0 {
		best, n := p.choose(c, s, p.among(c, s, nil))
		if best == nil {
			return
		}
		if p.evens(c, s) {
			n = 1
		}
		p.enter(c, s, best, n)
		p.addLot(c, s, best, n)
	}
}

// among returns choices that leave domains open among several, in each of which pods of c would be well as things are, for the sake
// of pools' minValues. The labels in more have their say too.
func (p *problem) among(c *class, s *stage, more []int) []*choice {
	if !p.diverse {
		return nil
	}
	var out []*choice
	p.leaveOpen(choice{keys: merged(p.keysFor(c, s), more)}, func(key, d int) bool { return p.well(c, s, key, d) }, func(ch choice) {
		labels, tolerance := p.pinned(c, s)
		from := len(out)
		out = p.takeOpen(out, c, s, ch, asked{labels, tolerance, s.wary})
		if len(out) == from && (labels != s.labels || tolerance != s.tolerance) {
			out = p.takeOpen(out, c, s, ch, asked{s.labels, s.tolerance, s.wary})
		}
	})
	return out
}

// leaveOpen yields ch with each of its keys left open among all domains that will do, or wholly where nobody knows them yet, or
// without the label.
func (p *problem) leaveOpen(ch choice, will func(key, d int) bool, yield func(choice)) {
	at := len(ch.domains)
	if at == len(ch.keys) {
		yield(ch)
		return
	}
	key := ch.keys[at]
	with := func(d int, set []int) {
		next := ch
		next.domains, next.among = append(slices.Clone(ch.domains), d), append(slices.Clone(ch.among), set)
		p.leaveOpen(next, will, yield)
	}
	if set := slices.DeleteFunc(slices.Clone(p.reach[key]), func(d int) bool { return !will(key, d) }); len(set) > 0 {
		with(unsettled, set)
	}
	if p.vague[key] && will(key, unsettled) {
		with(unsettled, nil)
	}
	if p.lacking[key] && will(key, nowhere) {
		with(nowhere, nil)
	}
}

// well reports whether one more pod of c may come to domain d of the key now.
func (p *problem) well(c *class, s *stage, key, d int) bool {
	for i := range s.wide {
		r := &s.wide[i]
		if p.groups[r.group].key == key && (r.kind == topology.Spread && p.vague[key] || p.allows(r, d) == 0) {
			return false
		}
	}
	return !slices.ContainsFunc(c.members, func(m int) bool { return p.groups[m].key == key && p.groups[m].spare(d) == 0 })
}

// takeOpen appends what becomes of the choice with each term of labels preferred in its turn; see take.
func (p *problem) takeOpen(out []*choice, c *class, s *stage, ch choice, of asked) []*choice {
	from := len(out)
	for turn, labels := range p.turnsOf(of.labels) {
		next := p.narrow(c, s, ch, asked{labels, of.tolerance, of.wary})
		if len(out) >= maxChoices || next == nil ||
			slices.ContainsFunc(out[from:], func(o *choice) bool { return o.fit.like(next.fit) }) {
			continue
		}
		next.turn, next.labels = turn, labels
		out = append(out, next)
	}
	return out
}

// narrow returns the choice with no more domains left open than some pool needs for its minValues, the least crowded ones, and of
// equals the cheapest. It returns nil if all of them will not do, or none need be open.
func (p *problem) narrow(c *class, s *stage, ch choice, of asked) *choice {
	does := func() bool {
		ch.fit = p.fitOf(of.labels, of.tolerance, c, ch.extra(p), of.wary)
		return p.launchesSeveral(ch.fit, c.need)
	}
	if !does() {
		return nil
	}
	ch.domains, ch.among = slices.Clone(ch.domains), slices.Clone(ch.among)
	open := false
	for i, all := range ch.among {
		for _, d := range p.worstFirst(c, s, ch.keys[i], all, of) {
			kept := ch.among[i]
			if len(kept) == 1 {
				break
			}
			ch.among[i] = slices.DeleteFunc(slices.Clone(kept), func(o int) bool { return o == d })
			if !does() {
				ch.among[i] = kept
			}
		}
		if set := ch.among[i]; len(set) == 1 {
			ch.domains[i], ch.among[i] = set[0], nil
		}
		open = open || len(ch.among[i]) > 0
	}
	if !open || !does() {
		return nil
	}
	return &ch
}

// worstFirst returns the domains of a key in the order in which they are left out of a choice; none if there are too many to try.
func (p *problem) worstFirst(c *class, s *stage, key int, set []int, of asked) []int {
	if len(set) > maxChoices {
		return nil
	}
	price := map[int]float64{}
	for _, d := range set {
		price[d] = p.fitOf(of.labels, of.tolerance, c, p.inDomains([]int{key}, []int{d}), of.wary).perPod
	}
	out := slices.Clone(set)
	slices.SortStableFunc(out, func(a, b int) int {
		return cmp.Or(p.crowdAt(c, s, key, b)-p.crowdAt(c, s, key, a), cmp.Compare(price[b], price[a]))
	})
	return out
}

// crowdAt returns how crowded the domain is with pods that those of c must be spread from, or that must be spread from them.
func (p *problem) crowdAt(c *class, s *stage, key, d int) int {
	crowd := 0
	add := func(i int) {
		if g := p.groups[i]; g.key == key && g.kind == topology.Spread {
			crowd += int(g.present[d])
		}
	}
	for i := range s.wide {
		add(s.wide[i].group)
	}
	for _, m := range c.members {
		add(m)
	}
	return crowd
}

// reachableAmong reports whether pods of c may come to be in the domain on a new node of which it is left open, and that has all
// labels by which they must be spread.
func (p *problem) reachableAmong(c *class, s *stage, key, domain int) bool {
	if !p.diverse {
		return false
	}
	must := func(key int) bool {
		return slices.ContainsFunc(s.wide, func(r rule) bool { return r.kind != topology.Apart && p.groups[r.group].key == key })
	}
	found := false
	p.leaveOpen(choice{keys: p.keysFor(c, s)}, func(key, d int) bool { return d >= 0 || !must(key) }, func(ch choice) {
		found = found || slices.Contains(ch.several(key), domain) && slices.ContainsFunc(p.turnsOf(s.labels), func(labels *alternatives) bool {
			return p.launchesSeveral(p.fitOf(labels, s.tolerance, c, ch.extra(p), s.wary), c.need)
		})
	})
	return found
}

// joinOpen puts the next pod of c onto a planned node of which the domain is open. It returns false if there is none that will do.
func (r *repairer) joinOpen(c *class, s *stage) bool {
	for i, o := range r.nodes {
		if !r.diverse || !o.flavour.diverse {
			continue
		}
		if r.budget--; r.budget < 0 {
			return false
		}
		ch := r.amid(c, s, o)
		if ch == nil {
			continue
		}
		l := r.lotFor(c, s, ch)
		if with := r.with(o, &r.loads[i], l); with != nil {
			r.settle(l, r.loads[i].guests)
			r.nodes[i], r.loads[i] = with, r.loadOf(with)
			return true
		}
	}
	return false
}

// amid returns the choice of those domains that the opened node may come to be in where pods of c would be well; nil if there are
// none. Whom they want to be with they may find on the node itself, wherever that is.
func (r *repairer) amid(c *class, s *stage, o *opened) *choice {
	together := slices.ContainsFunc(o.share, func(part portion) bool {
		return !slices.ContainsFunc(s.wide, func(x rule) bool {
			return x.kind == topology.Near && !slices.Contains(part.lot.class.members, x.group)
		})
	})
	at := *s
	if together {
		at.wide = slices.DeleteFunc(slices.Clone(s.wide), func(x rule) bool { return x.kind == topology.Near })
	}
	ch := &choice{keys: r.keysFor(c, s)}
	for _, key := range ch.keys {
		d, all := nowhere, r.domainsUnder(o, key)
		set := slices.DeleteFunc(slices.Clone(all), func(d int) bool { return !r.well(c, &at, key, d) })
		switch {
		case len(all) == 0 && !r.well(c, s, key, nowhere), len(all) > 0 && len(set) == 0:
			return nil
		case len(set) == 1:
			d, set = set[0], nil
		case len(set) > 1:
			d = unsettled
		}
		ch.domains, ch.among = append(ch.domains, d), append(ch.among, set)
	}
	labels, tolerance := r.pinned(c, s)
	for _, of := range []asked{{labels, tolerance, s.wary}, {s.labels, s.tolerance, s.wary}} {
		ch.labels, ch.fit = of.labels, r.fitOf(of.labels, of.tolerance, c, ch.extra(r.problem), of.wary)
		if ch.fit.on[o.shelf.index].flavour != nil {
			return ch
		}
	}
	return nil
}

// launchesSeveral reports whether a pool whose minValues take several types launches a node for the need.
func (p *problem) launchesSeveral(f *fit, n *need) bool {
	return f.ok && slices.ContainsFunc(p.shelves, func(s *shelf) bool {
		on := f.on[s.index]
		if on.flavour == nil || !on.flavour.diverse {
			return false
		}
		_, ok := p.launches(s, on, n)
		return ok
	})
}
