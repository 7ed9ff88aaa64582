package pack

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// Foes are the pods from which a daemon must be apart by one of its terms, and where some of them are or may come: there nobody
// can rely on the daemon, elsewhere it makes no difference to it that they wait. What is not known for certain counts as a yes:
// what limits leave, whether offerings are there, and what the pods ask of each other is not looked at.
type foes struct {
	key     int
	parties []*party
	// values are those of the key's label on nodes where they may be, there or to come; unknown says that they may be where nobody
	// knows the value yet, fresh that some may have a new node. Of single nodes that are there it is asked when it matters.
	values         map[string]bool
	unknown, fresh bool
	// own says that the daemon's other pods are among them, in a domain that nodes share. They are in none of the above, but for those
	// that run.
	own bool
}

// A party is foes that are to be placed and ask the same of nodes, or the pods of a daemon.
type party struct {
	terms     []require.Set // of which a node must meet one
	tolerance *tolerance
	classes   []*class
	daemon    *model.Daemon // nil for classes; one gets room somehow
	elsewhere bool          // they may go to nodes that labels do not tell
}

// learnFoes finds who may come where the daemons must be apart from them, besides pods that run.
func (p *problem) learnFoes(wanted map[int][]*hand) {
	type partyKey struct{ term, labels, tolerance int }
	known := map[partyKey]*party{}
	for _, c := range p.classes {
		for _, t := range p.wantedTerms(c.pod.Object, wanted) {
			k := partyKey{term: t, labels: -1}
			if len(c.stages) > 0 {
				k.labels, k.tolerance = c.last().labels.id, c.last().tolerance.id
			}
			pt := known[k]
			if pt == nil {
				pt = p.partyOf(c)
				known[k] = pt
				for _, h := range wanted[t] {
					r := h.foesBy(t)
					r.parties = append(r.parties, pt)
				}
			}
			pt.elsewhere = pt.elsewhere || namesNodes(&c.pod.Object.Spec)
			pt.classes = append(pt.classes, c)
		}
	}
	for _, d := range p.snapshot.Daemons() {
		for _, t := range p.wantedTerms(d.Pod.Object, wanted) {
			for _, h := range wanted[t] {
				switch r := h.foesBy(t); {
				case h.daemon != d:
					r.parties = append(r.parties, p.partyOfDaemon(d))
				case r.key != hostKey: // a daemon has one pod on each node
					r.own = true
				}
			}
		}
	}
	for _, h := range p.hands {
		for i := range h.foes {
			for _, pt := range h.foes[i].parties {
				p.track(&h.foes[i], pt)
			}
		}
	}
}

func (p *problem) partyOf(c *class) *party {
	if len(c.stages) == 0 || len(c.last().labels.terms) >= maxAlternatives {
		return &party{elsewhere: true} // what is wrong with it may be mended, or some terms were left out
	}
	return &party{terms: c.last().labels.terms, tolerance: c.last().tolerance}
}

func (p *problem) partyOfDaemon(d *model.Daemon) *party {
	terms, no := p.requiredOf(&d.Pod.Object.Spec)
	return &party{
		terms: terms, daemon: d, elsewhere: !no.OK() || namesNodes(&d.Pod.Object.Spec),
		tolerance: &tolerance{list: toleratedBy(d), patient: true},
	}
}

// namesNodes reports whether the required affinity of a pod selects nodes by what is no label.
func namesNodes(spec *corev1.PodSpec) bool {
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil ||
		spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return false
	}
	return slices.ContainsFunc(spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms,
		func(t corev1.NodeSelectorTerm) bool { return len(t.MatchFields) > 0 })
}

// wantedTerms returns which of the terms select the pod.
func (p *problem) wantedTerms(o *corev1.Pod, wanted map[int][]*hand) []int {
	terms := p.book.Selecting(nil, o.Namespace, o.Labels)
	slices.Sort(terms)
	return slices.DeleteFunc(slices.Compact(terms), func(t int) bool { return wanted[t] == nil })
}

// foesBy returns the foes by one of the daemon's terms.
func (h *hand) foesBy(term int) *foes { return &h.foes[slices.Index(h.terms, term)] }

// track notes where the party may come to be.
func (p *problem) track(r *foes, pt *party) {
	if pt.elsewhere {
		r.unknown, r.fresh = true, true
		return
	}
	for _, n := range p.snapshot.Nodes() {
		switch {
		case n.Deleting:
		case !n.Launched():
			p.trackNew(r, pt, nest{n.Taints, n.Wishes(), wishedTypes(n, p.snapshot.Types(n.Pool))})
		case r.key == hostKey:
		case !r.covers(require.FromLabels(n.Labels), p.keys[r.key].label) && p.visits(pt, n):
			p.trackAt(r, n)
		}
	}
	for _, pool := range p.snapshot.Pools() {
		p.trackNew(r, pt, nest{pool.Taints, pool.Requirements, p.snapshot.Types(pool.Name)})
	}
}

// trackAt notes that one of them is, or may be, on a node that is there.
func (p *problem) trackAt(r *foes, n *model.Node) {
	label := p.keys[r.key].label
	if v, ok := n.Labels[label]; ok {
		r.values[v] = true
	} else {
		r.unknown = r.unknown || !n.Registered && p.opts.wellKnown(label)
	}
}

// A nest is what new nodes of a pool may be, or one that is on its way.
type nest struct {
	taints []corev1.Taint
	reqs   require.Set
	types  []*model.InstanceType
}

// trackNew is track for nodes to come.
func (p *problem) trackNew(r *foes, pt *party, in nest) {
	label := p.keys[r.key].label
	if _, refused := pt.tolerance.refuses(in.taints); refused || r.covers(in.reqs, label) {
		return
	}
	for _, term := range pt.terms {
		term = term.Normalize(p.opts.Labels.Aliases)
		if _, ok := in.reqs.Compatible(term, p.opts.wellKnown); !ok {
			continue
		}
		reqs := in.reqs.And(term)
		for _, t := range in.types {
			if _, ok := reqs.Intersects(t.Requirements); !ok || r.covers(t.Requirements, label) || !p.holdsSome(t.Allocatable, pt) {
				continue
			}
			for _, o := range t.Offerings {
				if _, ok := reqs.Intersects(o.Requirements); ok && !r.covers(o.Requirements, label) {
					p.trackFresh(r, reqs.And(t.Requirements).And(o.Requirements))
				}
			}
		}
	}
}

// trackFresh notes that one of them may come to a new node with these labels.
func (p *problem) trackFresh(r *foes, reqs require.Set) {
	r.fresh = true
	if r.key == hostKey {
		return
	}
	switch have, ok := reqs.Get(p.keys[r.key].label); {
	case !ok:
		r.unknown = r.unknown || p.opts.wellKnown(p.keys[r.key].label)
	case have.Operator() == require.In:
		for v := range have.Each() {
			r.values[v] = true
		}
	case have.Operator() != require.DoesNotExist:
		r.unknown = true
	}
}

// covers reports whether it is known already that foes may be wherever nodes with these labels are.
func (r *foes) covers(reqs require.Set, label string) bool {
	if r.key == hostKey {
		return r.fresh
	}
	have, ok := reqs.Get(label)
	if !ok || have.Operator() != require.In {
		return false
	}
	for v := range have.Each() {
		if !r.values[v] {
			return false
		}
	}
	return true
}

// holdsSome reports whether pods of the party fit into an empty node.
func (p *problem) holdsSome(allocatable model.Resources, pt *party) bool {
	return pt.daemon != nil || slices.ContainsFunc(pt.classes, func(c *class) bool { return p.fitsIn(c, allocatable) })
}

func (p *problem) fitsIn(c *class, free model.Resources) bool {
	for i, name := range p.cols[:p.plain] {
		if v := c.need.amount[i]; v > 0 && v > free[name] {
			return false
		}
	}
	return true
}

// visits reports whether pods of the party may come to a node that is there, at once, or when pods have gone that are about to
// or that matter less.
func (p *problem) visits(pt *party, n *model.Node) bool {
	if pt.elsewhere {
		return true
	}
	if _, refused := pt.tolerance.refuses(n.Taints); refused {
		return false
	}
	have, known := require.FromLabels(n.Labels), p.opts.wellKnown
	if n.Registered {
		known = nil // it has all labels that it gets
	}
	if !slices.ContainsFunc(pt.terms, func(term require.Set) bool {
		if !n.Registered {
			term = term.Normalize(p.opts.Labels.Aliases)
		}
		_, ok := have.Compatible(term, known)
		return ok
	}) {
		return false
	}
	return pt.daemon != nil || slices.ContainsFunc(pt.classes, func(c *class) bool {
		return p.fitsIn(c, n.Free()) || p.fitsIn(c, p.freeFor(c, n))
	})
}

// freeFor returns what pods of c may come to use of a node.
func (p *problem) freeFor(c *class, n *model.Node) model.Resources {
	free := n.Free()
	for _, pod := range n.Pods {
		if pod.Terminating() || p.moving[pod.Key] || pod.Priority() < c.priority {
			free = free.Plus(pod.Requests)
		}
	}
	return free
}

// some reports whether there are foes anywhere, or may be.
func (r *foes) some() bool {
	return r.own || r.unknown || r.fresh || len(r.values) > 0 || r.key == hostKey && len(r.parties) > 0
}

// near reports whether foes may be in the domain of a node with these labels, which is n unless it is to come.
func (p *problem) near(r *foes, reqs require.Set, n *model.Node) bool {
	if r.key == hostKey {
		return n == nil && r.fresh || n != nil && slices.ContainsFunc(r.parties, func(pt *party) bool { return p.visits(pt, n) })
	}
	label := p.keys[r.key].label
	have, ok := reqs.Get(label)
	switch {
	case !ok:
		return (n == nil || !n.Registered) && p.opts.wellKnown(label) && r.some()
	case have.Operator() == require.DoesNotExist:
		return false
	case r.unknown:
		return true
	}
	for v := range r.values {
		if have.Has(v) {
			return true
		}
	}
	return false
}
