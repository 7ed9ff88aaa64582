package pack

import (
	"math"
	"slices"

	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// decide gives pods of c on new nodes their domains, as far as the stage's wishes hold, and collects them in lots. Labels
// that no rule looks at stay open.
func (p *problem) decide(c *class, s *stage) {
	if s.escort != nil {
		p.assign(c, s, p.escorted(c, s))
		if p.bold {
			p.assign(c, s, p.safelyEscorted(c, s))
		}
	}
	if slices.ContainsFunc(s.host, func(r rule) bool { return r.kind == topology.Near }) {
		p.bundle(c, s)
		return
	}
	choices := p.choices(c, s)
	p.assign(c, s, choices)
	if c.left() > 0 && p.bold && !slices.ContainsFunc(choices, func(ch *choice) bool { return p.allowed(c, s, ch) > 0 }) {
		p.assign(c, s, p.looseChoices(c, s))
		p.assign(c, s, p.elusive(c, s))
		p.assignAmong(c, s)
	}
}

// assign gives pods of c the best of the choices, again and again, as long as one may take some.
func (p *problem) assign(c *class, s *stage, choices []*choice) {
	for c.left() > 0 {
		best, n := p.choose(c, s, choices)
		if best == nil {
			return
		}
		p.enter(c, s, best, n)
		p.addLot(c, s, best, n)
	}
}

// choose returns the choice for the next pods, and for how many: the emptiest domains of those that the rules allow, and
// of equals the cheapest.
func (p *problem) choose(c *class, s *stage, choices []*choice) (best *choice, n int) {
	var least int
	for _, ch := range choices {
		may, crowd := p.may(c, s, ch)
		if may == 0 {
			continue
		}
		if best == nil || crowd < least || crowd == least && ch.fit.perPod < best.fit.perPod*(1-same) {
			best, least, n = ch, crowd, may
		}
	}
	if best == nil {
		return nil, 0
	}
	if len(choices) > 1 && p.evens(c, s) {
		n = 1
	}
	return best, min(n, c.left())
}

// evens reports whether each pod of the class may change which domain is best for the next.
func (p *problem) evens(c *class, s *stage) bool {
	if slices.ContainsFunc(s.wide, func(r rule) bool { return r.kind != topology.Near }) {
		return true
	}
	return slices.ContainsFunc(c.members, func(m int) bool {
		return p.groups[m].kind == topology.Spread && p.groups[m].key != hostKey
	})
}

// allowed returns how many pods the choice may take now, whatever its quota.
func (p *problem) allowed(c *class, s *stage, ch *choice) int {
	n, _ := p.rule(c, s, ch)
	return n
}

// may returns how many pods the choice may take now, and how crowded its domains are with pods to spread from.
func (p *problem) may(c *class, s *stage, ch *choice) (n, crowd int) {
	n, crowd = p.rule(c, s, ch)
	return min(n, p.quota(c, s, ch)), crowd
}

// rule is may as far as rules about pods are concerned.
func (p *problem) rule(c *class, s *stage, ch *choice) (n, crowd int) {
	n = math.MaxInt32
	for i := range s.wide {
		r := &s.wide[i]
		key := p.groups[r.group].key
		d := ch.domain(key)
		if ch.escorted && r.kind == topology.Near {
			if d == nowhere {
				return 0, 0
			}
			continue // its node brings who it wants to be with
		}
		n = min(n, p.allowsIn(r, ch))
		if r.kind == topology.Spread && p.vague[key] {
			return 0, 0 // another new node may turn out to be in an empty domain
		}
		if r.kind == topology.Spread && d >= 0 {
			crowd += int(p.groups[r.group].present[d])
		}
	}
	for _, m := range c.members {
		g := p.groups[m]
		if g.key == hostKey {
			continue
		}
		d := ch.domain(g.key)
		n = min(n, g.spareIn(ch))
		if d >= 0 && g.kind == topology.Spread && len(s.wide) == 0 {
			crowd += int(g.present[d])
		}
	}
	return n, crowd
}

func (ch *choice) domain(key int) int {
	if i := slices.Index(ch.keys, key); i >= 0 {
		return ch.domains[i]
	}
	return nowhere
}

// enter counts n pods of c in the domains of the choice.
func (p *problem) enter(c *class, s *stage, ch *choice, n int) {
	p.spend(c, s, ch, n)
	if len(p.hands) > 0 && !ch.escorted {
		for i := range s.wide {
			p.goAhead(c, &s.wide[i], ch.domain(p.groups[s.wide[i].group].key))
		}
	}
	for _, m := range c.members {
		g := p.groups[m]
		if g.key == hostKey {
			g.total += n
		} else if !slices.ContainsFunc(g.with, func(key int) bool { return key != hostKey && ch.domain(key) == nowhere }) {
			if how := p.counting(g, ch.fit); how != countsNot {
				g.countIn(ch, n, how == counts)
			}
		}
	}
	for i := range s.wide {
		r := &s.wide[i]
		for _, d := range ch.places(p.groups[r.group].key) {
			p.reserve(r, d)
		}
	}
}

// keysFor returns the labels whose domains must be settled for the class: those of its own rules and those by which others
// look at it. The result is shared.
func (p *problem) keysFor(c *class, s *stage) []int {
	if s.keys != nil {
		return s.keys
	}
	keys := append([]int{}, p.pins...)
	one := func(key int) {
		if key != hostKey && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	add := func(g int) {
		one(p.groups[g].key)
		for _, key := range p.groups[g].with {
			one(key)
		}
	}
	for i := range s.wide {
		add(s.wide[i].group)
	}
	for _, m := range c.members {
		if p.groups[m].hard {
			add(m) // what others only prefer does not pin down who never asked for it
		}
	}
	slices.Sort(keys)
	s.keys, s.text = keys, string(putKeys(keys))
	return keys
}

// inDomains returns what the labels of a node in these domains are. That a label must be missing is said only where a new
// node might have it.
func (p *problem) inDomains(keys, domains []int) require.Set {
	var out []require.Requirement
	for i, d := range domains {
		switch k := p.keys[keys[i]]; {
		case d >= 0:
			out = append(out, require.New(k.label, require.In, k.names[d]))
		case d == nowhere && (len(p.reach[keys[i]]) > 0 || p.vague[keys[i]]):
			out = append(out, require.New(k.label, require.DoesNotExist))
		}
	}
	return require.NewSet(out...)
}

func putKeys(keys []int) []byte {
	var b []byte
	for _, k := range keys {
		b = putInt(b, int64(k))
	}
	return b
}

// combine yields every combination of domains that new nodes may be in, one of each key. New nodes may be
// outside all domains of a key, or get a value that nobody knows yet.
func (p *problem) combine(keys, chosen []int, yield func([]int)) {
	if len(chosen) == len(keys) {
		yield(chosen)
		return
	}
	key := keys[len(chosen)]
	if p.vague[key] {
		p.combine(keys, append(chosen, unsettled), yield)
	}
	if p.lacking[key] {
		p.combine(keys, append(chosen, nowhere), yield)
	}
	for _, d := range p.reach[key] {
		p.combine(keys, append(chosen, d), yield)
	}
}

// explore finds which domains of each key new nodes may be in, and opens the groups' counts for those that a pod of theirs
// may reach.
func (p *problem) explore() {
	p.reach, p.vague, p.lacking = make([][]int, len(p.keys)), make([]bool, len(p.keys)), make([]bool, len(p.keys))
	for key, k := range p.keys {
		if key == hostKey {
			continue
		}
		seen := map[string]bool{}
		for _, s := range p.shelves {
			for _, sh := range s.pool.shapes {
				values := valuesOf(sh, k.label)
				for v := range values {
					seen[v] = true
				}
				if len(values) > 0 {
					continue
				}
				if r, ok := sh.reqs.Get(k.label); ok && r.Operator() != require.DoesNotExist {
					p.vague[key] = true
				} else {
					p.lacking[key] = true
				}
			}
		}
		for _, v := range sortedKeys(seen) {
			p.reach[key] = append(p.reach[key], k.of(v))
		}
	}
	for _, g := range p.groups {
		if g.key != hostKey {
			p.extend(g)
		}
	}
}

// extend makes room in g for the domains that came last. A domain that a new node for a pod of the group could be in
// counts, so that it fills like the others.
func (p *problem) extend(g *group) {
	for len(g.present) < len(p.keys[g.key].names) {
		g.present, g.sure = append(g.present, 0), append(g.sure, 0)
		g.limit, g.counts = append(g.limit, noLimit), append(g.counts, false)
	}
	if g.kind != topology.Spread {
		return
	}
	for _, d := range p.reach[g.key] {
		if !g.counts[d] {
			g.counts[d] = p.reaches(g, d)
		}
	}
}

// reaches reports whether some pool offers a node in domain d that counts for the group.
func (p *problem) reaches(g *group, d int) bool {
	in := require.NewSet(require.New(p.keys[g.key].label, require.In, p.keys[g.key].names[d]))
	for _, key := range g.with {
		if key != hostKey {
			in = in.With(require.New(p.keys[key].label, require.Exists))
		}
	}
	for _, s := range p.shelves {
		if g.tolerance != nil {
			if _, refused := g.tolerance.refuses(hard(s.pool.Taints)); refused {
				continue
			}
		}
		terms := []require.Set{{}}
		if g.strict != nil {
			terms = g.strict.terms
		}
		for _, term := range terms {
			if f := s.flavourFor(term.And(in), p.opts); f != nil && f.some && p.opens(s, g, d, in) {
				return true
			}
		}
	}
	return false
}

// An openKey is what opens depends on.
type openKey struct {
	shelf, key, domain int
	with               string
}

// opens reports whether some class could have a new node from the shelf in the domain, where labels are as in says. A domain
// in which nobody ever gets a node stays empty for ever, and the scheduler, which counts domains of nodes, knows nothing of it.
func (p *problem) opens(s *shelf, g *group, domain int, in require.Set) bool {
	id := openKey{s.index, g.key, domain, string(putKeys(g.with))}
	known, ok := p.opening[id]
	if !ok {
		known = slices.ContainsFunc(p.classes, func(c *class) bool {
			return c.refusal.OK() && (p.late || c.why == nil && c.left() > 0) && p.reachable(c, g.key, domain) && p.opensFor(c, s, g.key, in)
		})
		p.opening[id] = known
	}
	return known
}

// reachable reports whether pods of c may come to be in the domain on a new node that has all labels by which they must be
// spread: the scheduler leaves nodes without one of them out of count.
func (p *problem) reachable(c *class, key, domain int) bool {
	last := c.last()
	if !slices.ContainsFunc(last.wide, func(r rule) bool { return p.groups[r.group].key == key }) {
		return true
	}
	return slices.ContainsFunc(slices.Concat(p.choices(c, last), p.looseChoices(c, last)), func(ch *choice) bool {
		return ch.domain(key) == domain && !slices.ContainsFunc(last.wide, func(r rule) bool {
			return r.kind != topology.Apart && ch.domain(p.groups[r.group].key) == nowhere
		})
	}) || p.reachableAmong(c, last, key, domain)
}

// opensFor reports whether a pod of c that has given up its preferences could have a node of its own from the shelf that turns
// out to be in the domain. A class that does not care about domains of the key leaves it to chance in which one it will be.
func (p *problem) opensFor(c *class, s *shelf, key int, in require.Set) bool {
	last := c.last()
	on := p.fitOf(last.labels, last.tolerance, c, in, last.wary).on[s.index]
	if on.flavour == nil {
		return false
	}
	wide := func() shelfFit {
		any := p.fitOf(last.labels, last.tolerance, c, require.Set{}, last.wary).on[s.index]
		any.holds = any.holds.and(on.holds)
		return any
	}
	if keys := p.keysFor(c, last); !slices.Contains(keys, key) || slices.Contains(p.openable(c, last, keys), key) {
		on = wide()
	}
	_, ok := p.launches(s, on, c.need)
	if !ok && p.diverse && on.flavour.diverse {
		_, ok = p.launches(s, wide(), c.need)
	}
	return ok
}

// launchable reports whether some shelf launches a node for the need.
func (p *problem) launchable(f *fit, n *need) bool {
	return f.ok && slices.ContainsFunc(p.shelves, func(s *shelf) bool {
		if f.on[s.index].flavour == nil {
			return false
		}
		_, ok := p.launches(s, f.on[s.index], n)
		return ok
	})
}

// launches reports whether limits, reservations and minValues of the shelf's pool let one node for the need be launched. If
// it is minValues that do not, miss is the label of which there are too few values.
func (p *problem) launches(s *shelf, on shelfFit, n *need) (miss string, found bool) {
	var tried []*reservation
	on.holds.each(func(j int) {
		sh := s.pool.shapes[j]
		if count, _ := s.pool.affords(sh); found || count <= 0 || slices.Contains(tried, sh.reserved) {
			return
		}
		tried = append(tried, sh.reserved)
		miss, found = p.enough(s, on.flavour, n.amount, n.cargo, sh.reserved)
	})
	return miss, found
}
