package pack

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// A group counts the pods that a term selects, by domain. For the rules about single nodes the domains are the nodes there
// are; on new nodes the patterns count for themselves.
type group struct {
	kind topology.Kind
	key  int
	// strict and tolerance say which nodes count; nil means all.
	strict    *alternatives
	tolerance *tolerance
	// with are the labels that a node must have besides to count, because its pods must be spread by them too.
	with []int
	// present counts by domain, sure only what certainly is on nodes that count; limit is the most that pods which are there
	// already, and want to be apart, leave.
	present, sure, limit []int32
	// blocs are pods of daemons that nobody can rely on, of a group that pods want to be near; doubts is how many there are.
	blocs  map[blocKey]*bloc
	doubts int
	first  first
	// counts says which domains a node that counts is in, or may come to be in.
	counts []bool
	total  int
	// classes are those of which pods are counted and may be placed; those before done have none left.
	classes []*class
	done    int
	port    port // for a host port
	// base is how many pods of daemons every node holds, and crowd how many a new one may, of a group that is spread over nodes.
	base, crowd int
	// there says that no new node counts, of a group that is spread over nodes; idle is the least on one that takes no pods.
	there  bool
	idle   int32
	sealed *sealed  // nil if it is none
	before foreseen // what was counted before any pod was placed, if daemons matter
	hard   bool     // some rule about it is no preference
}

// A groupKey is what makes two groups one.
type groupKey struct {
	term              int
	kind              topology.Kind
	strict, tolerance int
	with              string
}

// hostKey is the index of the label of single nodes among the keys.
const hostKey = 0

// domains numbers the values of one label.
type domains struct {
	label  string
	number map[string]int
	names  []string
}

func (d *domains) of(value string) int {
	n, ok := d.number[value]
	if !ok {
		n = len(d.names)
		d.number[value] = n
		d.names = append(d.names, value)
	}
	return n
}

// keyOf returns the index of a topology key.
func (p *problem) keyOf(label string) int {
	if stable, ok := p.opts.Labels.Aliases[label]; ok {
		label = stable
	}
	i := slices.IndexFunc(p.keys, func(d *domains) bool { return d.label == label })
	if i < 0 {
		i = len(p.keys)
		p.keys = append(p.keys, &domains{label: label, number: map[string]int{}})
	}
	return i
}

// groupOf returns the group of a rule of class c.
func (p *problem) groupOf(r *topology.Rule, c *creed, t *tolerance) int {
	key := groupKey{term: p.book.Number(r.Term), kind: r.Kind, strict: -1, tolerance: -1}
	g := group{kind: r.Kind, key: p.keyOf(r.Term.Key)}
	if r.Kind == topology.Spread && r.HonorAffinity {
		key.strict, g.strict = c.strict.id, c.strict
	}
	if r.Kind == topology.Spread && r.HonorTaints {
		key.tolerance, g.tolerance = t.id, t
	}
	if r.Kind == topology.Spread && !r.Soft && len(c.rules) > 1 {
		g.with = p.spreadBy(c, g.key)
		key.with = string(putKeys(g.with))
	}
	if i, ok := p.groupAt[key]; ok {
		return i
	}
	fresh := g // only now does it need memory of its own
	return p.addGroup(key, &fresh)
}

// spreadBy returns the other labels by which pods of c must be spread.
func (p *problem) spreadBy(c *creed, but int) []int {
	var keys []int
	for i := range c.rules {
		if r := &c.rules[i]; r.Kind == topology.Spread && !r.Soft {
			if key := p.keyOf(r.Term.Key); key != but && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	slices.Sort(keys)
	return keys
}

func (p *problem) addGroup(key groupKey, g *group) int {
	if i, ok := p.groupAt[key]; ok {
		return i
	}
	i := len(p.groups)
	p.groupAt[key] = i
	p.groups = append(p.groups, g)
	p.byTerm[key.term] = append(p.byTerm[key.term], i)
	return i
}

// portGroup returns the group that counts the pods which would be in the way of host port q.
func (p *problem) portGroup(q port) int {
	i := slices.IndexFunc(p.ports, func(g int) bool { return p.groups[g].port == q })
	if i >= 0 {
		return p.ports[i]
	}
	p.groups = append(p.groups, &group{kind: topology.Apart, key: hostKey, port: q, hard: true})
	p.ports = append(p.ports, len(p.groups)-1)
	return len(p.groups) - 1
}

// namespaces returns the names of the namespaces that a selector of labels means.
func (p *problem) namespaces(s labels.Selector) []string {
	var out []string
	for _, n := range p.snapshot.Namespaces() {
		if s.Matches(labels.Set(n.Labels)) {
			out = append(out, n.Name)
		}
	}
	return out
}

// learnBans enters the required anti-affinity of the pods that run into the book, for it keeps others out.
func (p *problem) learnBans() {
	seen := map[string][]int{}
	var buf []byte
	for _, n := range p.snapshot.Nodes() {
		for _, pod := range n.Pods {
			terms := topology.RequiredApart(pod.Object)
			if len(terms) == 0 || p.moving[pod.Key] {
				continue
			}
			buf = putAffinityTerms(putString(buf[:0], pod.Object.Namespace), terms)
			for i := range terms {
				for _, k := range terms[i].MatchLabelKeys {
					buf = putString(buf, pod.Object.Labels[k])
				}
				for _, k := range terms[i].MismatchLabelKeys {
					buf = putString(buf, pod.Object.Labels[k])
				}
			}
			numbers, ok := seen[string(buf)]
			if !ok {
				for _, t := range topology.Bans(pod.Object, p.namespaces) {
					numbers = append(numbers, p.book.Number(t))
				}
				seen[string(buf)] = numbers
			}
			p.bans = append(p.bans, ban{node: n.Name, terms: numbers, terminating: pod.Terminating()})
		}
	}
}

// A ban is the terms that a pod on a node keeps out of its domains.
type ban struct {
	node        string
	terms       []int
	terminating bool
}

// join finds the groups that count each class, once all groups are known.
//
// Spread counts only pods with rules of their own: the others are placed after all that have some, and are in nobody's way
// then.
func (p *problem) join() {
	if len(p.groups) == 0 && len(p.bans) == 0 && !p.keepsAway() {
		p.hands = nil
		for _, c := range p.creeds {
			c.free = true
		}
		return
	}
	for _, b := range p.bans {
		for _, t := range b.terms {
			i := p.addGroup(groupKey{term: t, kind: topology.Apart, strict: -1, tolerance: -1},
				&group{kind: topology.Apart, key: p.keyOf(p.book.Term(t).Key)})
			p.groups[i].hard = true
		}
	}
	p.joinBans()
	defer p.joinHands()
	var terms []int
	for _, c := range p.creeds {
		o := c.pod.Object
		terms = p.book.Selecting(terms[:0], o.Namespace, o.Labels)
		slices.Sort(terms)
		terms = slices.Compact(terms)
		ruled := len(c.rules) > 0 || len(c.ports) > 0
		var spread []int
		for _, t := range terms {
			for _, g := range p.byTerm[t] {
				if p.groups[g].kind == topology.Spread {
					spread = append(spread, g)
				} else {
					c.members, ruled = append(c.members, g), ruled || p.groups[g].hard
				}
			}
		}
		for _, g := range spread {
			if ruled && p.meets(c.strict, p.groups[g].strict) {
				c.members = append(c.members, g)
			}
		}
		c.free = !ruled
		for _, q := range c.ports {
			for _, g := range p.ports {
				if q.clash(p.groups[g].port) {
					c.members = append(c.members, g)
				}
			}
		}
		slices.Sort(c.members)
		c.members = slices.Compact(c.members)
	}
	for _, c := range p.classes {
		for _, m := range c.members {
			if p.groups[m].kind == topology.Near && c.refusal.OK() && c.why == nil {
				p.groups[m].classes = append(p.groups[m].classes, c)
			}
		}
	}
}

// meets reports whether some node could suit both; nil suits all.
func (p *problem) meets(a, b *alternatives) bool {
	if a == nil || b == nil || a == b {
		return true
	}
	return slices.ContainsFunc(a.terms, func(x requirements) bool {
		return slices.ContainsFunc(b.terms, func(y requirements) bool {
			_, ok := x.Intersects(y)
			return ok
		})
	})
}

const noLimit = math.MaxInt32

// census counts the pods that run, on every node there is.
func (p *problem) census() {
	if len(p.groups) == 0 {
		return
	}
	for _, g := range p.groups {
		n := len(p.targets)
		if g.key != hostKey {
			n = len(p.keys[g.key].names)
		}
		g.present, g.sure, g.limit, g.counts = make([]int32, n), make([]int32, n), make([]int32, n), make([]bool, n)
		for i := range g.limit {
			g.limit[i] = noLimit
		}
	}
	var terms []int
	for _, t := range p.everywhere {
		for _, g := range p.groups {
			if !t.node.Deleting {
				p.mark(g, t)
			}
		}
		for _, pod := range t.node.Pods {
			if p.moving[pod.Key] {
				continue
			}
			terms = p.book.Selecting(terms[:0], pod.Object.Namespace, pod.Object.Labels)
			slices.Sort(terms)
			for _, term := range slices.Compact(terms) {
				for _, g := range p.byTerm[term] {
					p.countBound(p.groups[g], t, pod.Terminating())
				}
			}
			if len(p.ports) > 0 {
				p.occupy(t, portsOf(&pod.Object.Spec))
			}
		}
		for _, q := range t.daemonPorts {
			p.occupy(t, []port{q})
		}
		p.countCrew(t)
	}
	p.closeDoors()
}

// mayMeet reports whether labels that are as reqs says, and no others, may meet one of the alternatives.
func (p *problem) mayMeet(a *alternatives, reqs require.Set) bool {
	return slices.ContainsFunc(a.terms, func(term require.Set) bool {
		_, ok := reqs.Compatible(term.Normalize(p.opts.Labels.Aliases), nil)
		return ok
	})
}

// mark has the domains count that t is in, or may come to be in.
func (p *problem) mark(g *group, t *target) {
	k, d := p.keys[g.key], t.domain(g.key)
	if !g.tolerates(t) {
		return
	}
	switch {
	case d >= 0:
		g.counts[d] = g.counts[d] || p.eligible(g, t)
	case d == unsettled && !g.lacks(t):
		for _, kind := range t.kinds {
			r, _ := kind.Get(k.label)
			for d, name := range k.names {
				in := kind.With(require.New(k.label, require.In, name))
				g.counts[d] = g.counts[d] || r.Has(name) && (g.strict == nil || p.mayMeet(g.strict, in))
			}
		}
	}
}

// countBound counts a pod that runs on t. The scheduler spreads without looking at pods that are being deleted; and who is on
// a node that goes is no company to rely on.
func (p *problem) countBound(g *group, t *target, terminating bool) {
	d := t.domain(g.key)
	if t.node.Deleting && g.kind == topology.Near {
		return
	}
	if g.key == hostKey && d < 0 && !(terminating && g.kind == topology.Spread) {
		g.total++ // on a node that takes nobody else
		return
	}
	if d < 0 || terminating && g.kind == topology.Spread || !p.eligible(g, t) {
		return
	}
	g.present[d]++
	g.sure[d]++
	g.total++
}

// occupy counts the host ports that are taken on t.
func (p *problem) occupy(t *target, ports []port) {
	if t.index < 0 {
		return
	}
	for _, q := range ports {
		for _, g := range p.ports {
			if q.clash(p.groups[g].port) {
				p.groups[g].present[t.index]++
			}
		}
	}
}

// closeDoors keeps the pods that running pods want to be apart from out of their domains.
func (p *problem) closeDoors() {
	at := map[string]*target{}
	for _, t := range p.everywhere {
		at[t.node.Name] = t
	}
	for _, b := range p.bans {
		t := at[b.node]
		if t == nil {
			continue
		}
		for _, term := range b.terms {
			for _, i := range p.byTerm[term] {
				g := p.groups[i]
				if d := t.domain(g.key); g.kind == topology.Apart && d >= 0 {
					g.limit[d] = 0
				}
			}
		}
	}
}

// lacks reports whether t is without a label by which the group's pods must be spread too.
func (g *group) lacks(t *target) bool {
	return slices.ContainsFunc(g.with, func(key int) bool { return key != hostKey && t.domain(key) == nowhere })
}

// eligible reports whether t counts for the group.
func (p *problem) eligible(g *group, t *target) bool {
	if g.strict != nil && !p.admits(g.strict, t) || g.lacks(t) {
		return false
	}
	return g.tolerates(t)
}

// tolerates reports whether t's taints do not keep it from counting.
func (g *group) tolerates(t *target) bool { return g.bears(t.node.Taints) }

func (g *group) bears(taints []corev1.Taint) bool {
	if g.tolerance == nil {
		return true
	}
	_, refused := g.tolerance.refuses(hard(taints))
	return !refused
}

// hard returns the taints that keep pods away for good.
func hard(taints []corev1.Taint) []corev1.Taint {
	soft := func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectPreferNoSchedule }
	if !slices.ContainsFunc(taints, soft) {
		return taints
	}
	return slices.DeleteFunc(slices.Clone(taints), soft)
}
