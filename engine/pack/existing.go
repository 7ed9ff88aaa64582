package pack

import (
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// keepPromises places the pods that have been told a node, where that still holds. What a promise was made on is not known,
// so only hard rules count.
func (p *problem) keepPromises() {
	if len(p.targets) == 0 {
		return
	}
	byName := map[string]*target{}
	for _, t := range p.targets {
		byName[t.node.Name] = t
		if t.node.Claim != nil {
			byName[t.node.Claim.Name] = t
		}
	}
	for _, c := range p.classes {
		if !c.refusal.OK() || c.why != nil {
			continue
		}
		last, aloof := &c.stages[len(c.stages)-1], c.aloof()
		rest := c.pods[:0:0]
		for i, pod := range c.pods {
			t := byName[p.snapshot.PromiseOf(pod)]
			if t == nil || p.room(c, last, t, c.pods[i:i+1]) == 0 {
				if rest == nil && i+1 == len(c.pods) && len(rest) == i {
					break // nobody was placed
				}
				rest = append(rest, pod)
				continue
			}
			p.settle(c, last, t, c.pods[i:i+1])
			t.pods = append(t.pods, pod)
			c.promised = append(c.promised, pod)
			if aloof {
				t.kept = append(t.kept, kept{c, pod})
			}
			p.order = append(p.order, step{pod: pod, free: c.free})
		}
		if len(rest) < len(c.pods) {
			c.pods = rest
		}
	}
	p.shuffles = p.strays()
}

// onTargets places pods of c on nodes that exist or are in flight, first fit, as far as the stage's wishes hold. Pods that
// are spread come round again, for each may open the way for the next.
func (p *problem) onTargets(c *class, s *stage) {
	for again := true; again && c.left() > 0; {
		again = false
		for _, t := range p.targets {
			if c.left() == 0 {
				return
			}
			if n := p.room(c, s, t, c.pods[c.next:]); n > 0 {
				p.board(c, s, t, n)
				again = len(s.wide) > 0
			}
		}
	}
}

// board places the next n pods of c on t.
func (p *problem) board(c *class, s *stage, t *target, n int) {
	pods := c.take(n)
	p.settle(c, s, t, pods)
	t.pods = append(t.pods, pods...)
	for _, pod := range pods {
		p.order = append(p.order, step{pod: pod, free: c.free})
	}
}

// room returns how many of these pods of c, from the first, may go to t now.
func (p *problem) room(c *class, s *stage, t *target, pods []*model.Pod) int {
	n := copies(c.need.amount, t.room, len(pods))
	if n == 0 {
		return 0
	}
	if _, refused := s.tolerance.refuses(t.node.Taints); refused || !p.admits(s.labels, t) {
		return 0
	}
	n = p.attachable(c, t, pods[:n])
	n = min(n, p.within(s.wide, t, n))
	n = min(n, p.within(s.host, t, n))
	for _, m := range c.members {
		if n == 0 {
			break
		}
		n = min(n, p.groups[m].spare(t.domain(p.groups[m].key)))
		if t.open && !p.counted(p.groups[m], t) && !t.promised(p.snapshot, pods[0]) {
			return 0
		}
	}
	return max(n, 0)
}

// counted reports whether it is known how a pod on t counts for those who must be spread.
func (p *problem) counted(g *group, t *target) bool {
	switch {
	case g.kind != topology.Spread || !g.hard || g.key == hostKey:
		return true
	case p.eligible(g, t):
		return t.domain(g.key) != unsettled || p.late && p.willHave(t, g.key)
	}
	maybe := func(kind require.Set) bool { return p.mayMeet(g.strict, kind) }
	return g.lacks(t) || g.strict == nil || p.admits(g.strict, t) || !slices.ContainsFunc(t.kinds, maybe) // it certainly does not
}

// promised reports whether the pod was told that it would go there.
func (t *target) promised(s *model.Snapshot, pod *model.Pod) bool {
	name := s.PromiseOf(pod)
	return name != "" && (name == t.node.Name || t.node.Claim != nil && name == t.node.Claim.Name)
}

// within returns how many of n pods with these rules may go to t now.
func (p *problem) within(rules []rule, t *target, n int) int {
	for i := range rules {
		if n <= 0 {
			return 0
		}
		if d := t.domain(p.groups[rules[i].group].key); d == unsettled {
			n = min(n, p.allowsAny(&rules[i], t))
		} else {
			n = min(n, p.allows(&rules[i], d))
		}
	}
	return n
}

// allowsAny returns how many pods with this rule may go to t now, whichever of several domains it turns out to be in.
func (p *problem) allowsAny(r *rule, t *target) int {
	g := p.groups[r.group]
	switch {
	case !p.willHave(t, g.key):
		return 0
	case r.kind == topology.Near && t.company[r.group]:
		return math.MaxInt32 // they are together
	case r.kind == topology.Near, !p.late && (r.kind == topology.Apart || r.self):
		return 0 // it would be in its like's way in all those domains, so that comes last
	}
	n := math.MaxInt32
	for _, d := range p.domainsOf(g, t) {
		n = min(n, p.allows(r, d))
	}
	return n
}

// willHave reports whether t, whatever becomes of it, will have the label of the key.
func (p *problem) willHave(t *target, key int) bool {
	return !slices.ContainsFunc(t.kinds, func(kind require.Set) bool {
		r, ok := kind.Get(p.keys[key].label)
		return !ok || r.Operator() != corev1.NodeSelectorOpIn
	})
}

// allows returns how many pods with this rule may go to domain d of its group now; d is -1 for a node outside all domains.
func (p *problem) allows(r *rule, d int) int {
	g := p.groups[r.group]
	if d < 0 {
		if r.kind == topology.Apart && d == nowhere {
			return math.MaxInt32
		}
		return 0
	}
	switch r.kind {
	case topology.Apart:
		switch {
		case g.present[d] > 0:
			return 0
		case r.self:
			return 1
		}
	case topology.Near:
		if g.present[d] == 0 && !p.mayBeFirst(r, g.maybe(d)) {
			return 0
		}
	case topology.Spread:
		room := r.skew + p.emptiest(g, r.minDomains, d) - int(g.present[d])
		switch {
		case r.self:
			return max(room, 0)
		case room < 0:
			return 0
		}
	}
	return math.MaxInt32
}

// emptiest returns how many pods of the group the emptiest domain holds, for a pod that comes to domain to. A new node is
// possible and holds none, unless limits say otherwise, and so is a new domain where values are not known before. In the pod's own domain there are as many
// as the pod finds, however many that is.
func (p *problem) emptiest(g *group, minDomains, to int) int {
	if g.key == hostKey && !g.there {
		return g.lowest(minDomains)
	}
	if g.key != hostKey && (p.vague[g.key] || p.adrift[g.key]) {
		return 0
	}
	least, domains := int32(math.MaxInt32), 0
	if g.there && g.idle < math.MaxInt32 {
		least, domains = g.idle, 1
	}
	for d, counts := range g.counts {
		if !counts {
			continue
		}
		domains++
		if d == to {
			least = min(least, g.present[d])
		} else {
			least = min(least, g.sure[d])
		}
	}
	if domains == 0 || domains < minDomains {
		return 0
	}
	return int(least)
}

// spare returns how many members those bear that are in domain d already.
func (g *group) spare(d int) int {
	switch {
	case d >= 0:
		return max(int(g.limit[d]-g.present[d]), 0)
	case d == unsettled && slices.ContainsFunc(g.limit, func(v int32) bool { return v != noLimit }):
		return 0
	}
	return math.MaxInt32
}

// count counts n members in domain d; in all of them if nobody knows which it will be and somebody wants to be apart. It is
// sure that they count if their node is one that counts whatever it turns out to be.
func (g *group) count(d, n int, sure bool) {
	switch {
	case d >= 0:
		if sure {
			g.sure[d] += int32(n)
		}
		g.present[d] += int32(n)
		g.total += n
	case d == unsettled:
		g.total += n
		for i := range g.present {
			if g.kind == topology.Apart {
				g.present[i] += int32(n)
			}
		}
	}
}

// attachable returns how many of these pods of c, from the first, may have their volumes attached to t. Pods that share a
// volume take one attachment between them.
func (p *problem) attachable(c *class, t *target, pods []*model.Pod) int {
	if !t.limits(c) {
		return len(pods)
	}
	left, fresh := maps.Clone(t.attach), map[string]bool{}
	for i, pod := range pods {
		volumes, _ := p.snapshot.VolumesOf(pod)
		for _, v := range volumes {
			key := v.Driver + " " + v.Key
			if _, limited := left[v.Driver]; !limited || t.attached[key] || fresh[key] {
				continue
			}
			fresh[key] = true
			if left[v.Driver]--; left[v.Driver] < 0 {
				return i
			}
		}
	}
	return len(pods)
}

// attach counts the volumes of pods that come to t.
func (p *problem) attach(c *class, t *target, pods []*model.Pod) {
	if !t.limits(c) {
		return
	}
	for _, pod := range pods {
		for _, v := range p.volumesOf(pod) {
			t.load(v)
		}
	}
}

// limits reports whether t bounds how many volumes of some driver that pods of c use are attached to it.
func (t *target) limits(c *class) bool {
	for driver := range t.attach {
		if c.attach[driver] {
			return true
		}
	}
	return false
}

// settle counts pods of c on t.
func (p *problem) settle(c *class, s *stage, t *target, pods []*model.Pod) {
	n := len(pods)
	if len(p.hands) > 0 {
		p.leanOn(c, s, t)
	}
	subtract(t.room, c.need.amount, n)
	p.attach(c, t, pods)
	for _, m := range c.members {
		g := p.groups[m]
		if p.eligible(g, t) {
			g.count(t.domain(g.key), n, true)
			if t.domain(g.key) == unsettled && g.kind == topology.Spread {
				for _, d := range p.domainsOf(g, t) {
					g.present[d] += int32(n) // it may be there
				}
			}
		}
		if t.open && g.kind == topology.Near {
			if t.company == nil {
				t.company = map[int]bool{}
			}
			t.company[m] = true
		}
	}
	for _, rules := range [][]rule{s.wide, s.host} {
		for _, r := range rules {
			for _, d := range p.domainsOf(p.groups[r.group], t) {
				p.reserve(&r, d)
			}
		}
	}
}

// reserve keeps the pods that one with this rule wants to be apart from out of its domain.
func (p *problem) reserve(r *rule, d int) {
	if r.kind != topology.Apart || r.soft || d < 0 {
		return
	}
	g := p.groups[r.group]
	g.limit[d] = min(g.limit[d], g.present[d]) // what is there is the pod itself, if anything
}
