package pack

import (
	"math"
	"slices"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// A lot is a number of units that wait for new nodes and are all the same: pods of one class with their domains settled.
// A unit is one pod, or several that must share a node.
type lot struct {
	index int
	class *class
	// stage and choice are what the pods were given.
	stage  *stage
	choice *choice
	unit   int // pods in a unit
	manner int // among those of the tier, see mannerOf
	led    int // how many pods of each unit, the first ones, are of other classes, which those of the lot's follow
	need   *need
	fit    *fit
	// rules are those about the node, with groups that count members; the lot is counted in members, of each unit as many pods as
	// of says, all if it is nil.
	rules   []rule
	members []int
	of      []int
	// common says that rules and members are those of all lots of the stage that are.
	common bool
	// pods are those of all units, unit by unit; next is how many of them have a node.
	pods []*model.Pod
	next int
}

func (l *lot) left() int { return (len(l.pods) - l.next) / l.unit }

// each returns how many pods of a unit the group counts.
func (l *lot) each(group int) int {
	i := slices.Index(l.members, group)
	switch {
	case i < 0:
		return 0
	case l.of == nil:
		return l.unit
	}
	return l.of[i]
}

// social reports whether the lot's pods care who else is on their node, or others do.
func (l *lot) social() bool { return len(l.rules)+len(l.members) > 0 }

// addLot puts the next n pods of c into the lot for the choice.
func (p *problem) addLot(c *class, s *stage, ch *choice, n int) {
	var l *lot
	if i := slices.IndexFunc(c.lots, func(l *lot) bool { return l.fit == ch.fit && l.stage == s }); i >= 0 {
		l = c.lots[i]
	} else {
		l = p.newLot(c, s, ch)
		c.lots = append(c.lots, l)
		p.lots = append(p.lots, l)
	}
	pods := c.take(n)
	if l.pods == nil {
		l.pods = pods[:n:n] // the class looks at them no more
	} else {
		l.pods = append(l.pods, pods...)
	}
	for _, pod := range pods {
		p.order = append(p.order, step{pod: pod, free: c.free})
	}
}

// newLot returns a lot of pods of c, without any yet.
func (p *problem) newLot(c *class, s *stage, ch *choice) *lot {
	l := p.madeLots.take()
	*l = lot{index: len(p.lots), class: c, stage: s, choice: ch, unit: 1, need: c.need, fit: ch.fit, rules: s.host, common: true}
	if c.onHost == nil {
		c.onHost = []int{}
		for _, m := range c.members {
			if p.groups[m].key == hostKey {
				c.onHost = append(c.onHost, m)
			}
		}
	}
	l.members = c.onHost[:len(c.onHost):len(c.onHost)]
	return l
}

// A step is a pod in the order of placing. Free pods nobody counts, so they come last.
type step struct {
	pod  *model.Pod
	free bool
}

// bundle makes units of pods that must share a node: pods that want to be near their like on it, or near pods of another
// class of which one is still to be placed.
func (p *problem) bundle(c *class, s *stage) {
	if c.left() == 0 || !p.bold && p.followed(c) {
		return
	}
	most := c.left()
	for i := range s.host {
		r := &s.host[i]
		if r.kind == topology.Near {
			continue
		}
		if r.soft && p.onFresh(r) < most {
			return // all that are to share a node do so at once, and this wish would leave some behind
		}
		most = min(most, p.onFresh(r))
	}
	for _, row := range p.leaders(c, s, nil) {
		var more []int
		for _, leader := range row {
			more = append(more, p.keysFor(leader, leader.last())...)
		}
		choices := p.choicesBy(c, s, more)
		if p.bold {
			choices = slices.Concat(choices, p.among(c, s, more))
		}
		for n := most; n > 0; n-- {
			for _, ch := range choices {
				if may, _ := p.may(c, s, ch); may < n {
					continue
				}
				if l := p.tie(c, s, row, ch, n); l != nil {
					p.enter(c, s, ch, n)
					return
				}
			}
		}
	}
}

// followed reports whether pods of another class wait to be on a node with one of c: they take it along.
func (p *problem) followed(c *class) bool {
	return slices.ContainsFunc(p.classes, func(o *class) bool {
		if o == c || o.left() == 0 || !o.refusal.OK() || o.why != nil {
			return false
		}
		return slices.ContainsFunc(o.last().host, func(r rule) bool {
			return r.kind == topology.Near && slices.Contains(c.members, r.group)
		})
	})
}

// onFresh returns how many pods with this rule a node takes that holds nothing.
func (p *problem) onFresh(r *rule) int {
	switch {
	case r.kind == topology.Apart && r.self:
		return 1
	case r.kind == topology.Spread && r.self:
		return max(r.skew-p.groups[r.group].crowd, 0)
	}
	return math.MaxInt32
}

// leaders returns who may be on a node before pods of c come: rows of classes, one pod of each, of whom everybody finds all
// that it wants to be near in one that came before. The row is empty if pods of c may be first. Those in after come later.
func (p *problem) leaders(c *class, s *stage, after []*class) [][]*class {
	groups, self := p.company(c, s)
	if len(groups) == 0 {
		return [][]*class{nil}
	}
	var out [][]*class
	after = append(slices.Clone(after), c)
	for _, other := range p.classes {
		if len(after) > maxRow || slices.Contains(after, other) || other.left() == 0 || !other.refusal.OK() || other.why != nil ||
			slices.ContainsFunc(groups, func(g int) bool { return !slices.Contains(other.members, g) }) {
			continue
		}
		for _, row := range p.leaders(other, other.last(), after) {
			out = append(out, append(slices.Clone(row), other)) // it may come before any of c, and then c has to follow it
		}
		if len(out) >= maxAnchors {
			break
		}
	}
	if self && (len(after) == 1 || c.left() == 1) { // of several that want to be together none goes ahead
		out = append(out, nil)
	}
	return out
}

// company returns the groups of which one must be on the node before a pod of c, and whether c may be the first of all.
func (p *problem) company(c *class, s *stage) (groups []int, self bool) {
	defer func(was *class) { p.placing = was }(p.placing)
	p.placing, self = c, true
	for i := range s.host {
		if r := &s.host[i]; r.kind == topology.Near {
			groups = append(groups, r.group)
			self = self && p.mayBeFirst(r, 0)
		}
	}
	return groups, self
}

// maxAnchors bounds how many rows are tried to be followed, maxRow how long one is.
const (
	maxAnchors = 8
	maxRow     = 4
)

// last returns what pods of c ask for once they have given up all preferences.
func (c *class) last() *stage { return &c.stages[len(c.stages)-1] }

// follows reports whether n pods of c may come to a new node where one of each of the row is already.
func (p *problem) follows(c *class, s *stage, row []*class, ch *choice, n int) bool {
	for i, x := range row {
		with := x.last()
		if !bear(s, c.members, with, x.members, n) ||
			slices.ContainsFunc(with.wide, func(r rule) bool { return r.kind == topology.Apart && slices.Contains(c.members, r.group) }) {
			return false
		}
		for _, y := range row[:i] {
			if !bear(with, x.members, y.last(), y.members, 1) {
				return false
			}
		}
	}
	defer func() { p.placing = c }()
	for _, x := range row {
		p.placing = x
		if may, _ := p.may(x, x.last(), ch); may == 0 {
			return false
		}
		for _, m := range x.members {
			if g := p.groups[m]; g.key != hostKey {
				g.countIn(ch, 1, false)
				defer g.countIn(ch, -1, false)
			}
		}
	}
	for i := range s.wide {
		if r := &s.wide[i]; r.kind != topology.Near && p.allowsIn(r, ch) < n {
			return false
		}
	}
	return true
}

// bear reports whether n pods with a's rules and one with b's may share a new node.
func bear(a *stage, of []int, b *stage, and []int, n int) bool {
	both := func(rules []rule, members []int) bool {
		return !slices.ContainsFunc(rules, func(r rule) bool {
			return slices.Contains(members, r.group) &&
				(r.kind == topology.Apart || r.kind == topology.Spread && n+1 > r.skew)
		})
	}
	return both(a.host, and) && both(b.host, of)
}

// tie makes one unit of n pods of c, after one of each of the row. It returns nil if no shape holds it.
func (p *problem) tie(c *class, s *stage, row []*class, ch *choice, n int) *lot {
	amount := make([]int64, len(p.cols))
	subtract(amount, c.need.amount, -n)
	shared := c.need.cargo
	labels, tolerance, wary, rules := ch.labels, s.tolerance, s.wary, s.host
	ports := slices.Clone(c.ports)
	if !p.follows(c, s, row, ch, n) {
		return nil
	}
	for _, x := range row {
		with := x.last()
		subtract(amount, x.need.amount, -1)
		shared = shared.with(x.need.cargo)
		if labels = p.met(labels, with.labels); labels == nil {
			return nil
		}
		tolerance, wary = p.both(with.tolerance, tolerance), p.and(wary, with.wary)
		rules = slices.Concat(rules, with.host)
		ports = append(ports, x.ports...)
	}
	unit := &class{creed: &creed{ports: ports}, need: p.intern(amount, shared)}
	f := p.fitOf(labels, tolerance, unit, ch.extra(p), wary)
	if !p.launchable(f, unit.need) {
		return nil
	}
	l := &lot{index: len(p.lots), class: c, stage: s, choice: ch, unit: n, need: unit.need, fit: f}
	for _, r := range rules {
		if r.kind != topology.Near {
			l.rules = append(l.rules, r)
		}
	}
	l.enrol(p, c, n)
	for _, x := range row {
		l.enrol(p, x, 1)
	}
	l.unit, l.led = n+len(row), len(row)
	if len(row) == 0 {
		p.goAheadOn(l, c, s)
	} else {
		p.goAheadOn(l, row[0], row[0].last())
	}
	for _, x := range row {
		pods := x.take(1)
		l.pods = append(l.pods, pods...)
		p.order = append(p.order, step{pod: pods[0], free: x.free})
		p.enter(x, x.last(), ch, 1)
	}
	pods := c.take(n)
	l.pods = append(l.pods, pods...)
	for _, pod := range pods {
		p.order = append(p.order, step{pod: pod, free: c.free})
	}
	p.lots = append(p.lots, l)
	return l
}

// enrol counts n pods of c in each unit of the lot.
func (l *lot) enrol(p *problem, c *class, n int) {
	for _, m := range c.members {
		if p.groups[m].key != hostKey {
			continue
		}
		at := slices.Index(l.members, m)
		if at < 0 {
			at = len(l.members)
			l.members, l.of = append(l.members, m), append(l.of, 0)
		}
		l.of[at] += n
	}
}

// met returns the labels that meet both, nil if none do.
func (p *problem) met(a, b *alternatives) *alternatives {
	var terms []require.Set
	for _, x := range a.terms {
		for _, y := range b.terms {
			if _, ok := x.Intersects(y); ok && len(terms) < maxAlternatives {
				terms = append(terms, x.And(y))
			}
		}
	}
	if len(terms) == 0 {
		return nil
	}
	return p.alternativesOf(terms)
}

// intern returns the need with these amounts and crates.
func (p *problem) intern(amount []int64, shared cargo) *need {
	p.buf = shared.put(putVector(p.buf[:0], amount))
	n := p.needs[string(p.buf)]
	if n == nil {
		n = &need{id: len(p.needs), amount: amount, cargo: shared, scaled: p.cols.scale(amount)}
		for _, x := range shared {
			n.scaled[x.column] += x.part / p.cols.unit(x.column)
		}
		p.needs[string(p.buf)] = n
	}
	return n
}

// A guests list is what a new node holds of the groups that matter to its pods.
type guests []guest

// A guest is one group on one node: how many of its members are there, and the most that those who are there bear.
type guest struct{ group, present, limit int }

func (g guests) of(group int) (present, limit int) {
	for i := range g {
		if g[i].group == group {
			return g[i].present, g[i].limit
		}
	}
	return 0, math.MaxInt32
}

// admit returns how many units of l may join; both sides must bear it, whoever comes first.
func (g guests) admit(l *lot, n int) int {
	for i := range l.rules {
		r := &l.rules[i]
		present, _ := g.of(r.group)
		switch {
		case r.kind == topology.Near:
		case r.kind == topology.Apart && present > 0, r.kind == topology.Spread && present > r.skew:
			return 0
		case r.kind == topology.Apart && r.self:
			n = min(n, 1)
		case r.kind == topology.Spread && r.self:
			n = min(n, (r.skew-present)/max(l.each(r.group), 1))
		}
	}
	for _, m := range l.members {
		present, limit := g.of(m)
		n = min(n, (limit-present)/l.each(m))
	}
	return max(n, 0)
}

// add counts n units of l in.
func (g guests) add(l *lot, n int) guests {
	at := func(group int) *guest {
		i := slices.IndexFunc(g, func(x guest) bool { return x.group == group })
		if i < 0 {
			g = append(g, guest{group: group, limit: math.MaxInt32})
			i = len(g) - 1
		}
		return &g[i]
	}
	for _, m := range l.members {
		at(m).present += n * l.each(m)
	}
	for i := range l.rules {
		r := &l.rules[i]
		switch {
		case r.soft:
		case r.kind == topology.Apart && r.self:
			at(r.group).limit = 1
		case r.kind == topology.Apart:
			at(r.group).limit = 0
		case r.kind == topology.Spread:
			x := at(r.group)
			x.limit = min(x.limit, r.skew)
		}
	}
	return g
}
