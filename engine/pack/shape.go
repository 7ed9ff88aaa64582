package pack

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// requirements is what labels must be.
type requirements = require.Set

// A shape is an instance type as one pool would launch it: the room that is left once the daemons are on it. A type of
// which instances are reserved is a shape of its own for each reservation.
type shape struct {
	pool *pool
	typ  *model.InstanceType
	// reqs are the type's requirements narrowed by the pool's.
	reqs require.Set
	// offers are the available offerings that the pool allows, cheapest first. Never empty.
	offers   []model.Offering
	room     []int64
	scaled   []float64
	overhead model.Resources
	ports    []port // of the daemons
	bearers  []*model.Daemon
	aboard   cargo // what of others' cargo the daemons bring
	// crew are the daemons that matter to somebody, guests those from whom pods are spread over nodes.
	crew   []crewman
	guests guests
	// reserved is what its reservation still holds; nil for a shape that draws from none.
	reserved *reservation
}

// A reservation is capacity that is paid for already, shared by the shapes that draw from it.
type reservation struct {
	id   string
	left int
}

// A pool is a usable model.Pool with its shapes and what its limits leave.
type pool struct {
	*model.Pool
	shapes []*shape
	// drawing are the shapes that draw on each reservation, and on none; nil if there are no reservations.
	drawing map[*reservation]mask
	// remaining is what the limits leave, by resource; only limited resources are in it.
	remaining model.Resources
	// empty says why the pool has no shapes, if it has none.
	empty model.Verdict
}

// compilePools finds the usable pools, in the order in which they are tried, and the verdicts of the others.
func (p *problem) compilePools() {
	daemons := p.snapshot.Daemons()
	reservations := map[string]*reservation{}
	for _, mp := range p.snapshot.Pools() {
		if v := mp.Usable(); !v.OK() {
			p.unusable = append(p.unusable, model.PoolVerdict{Pool: mp.Name, Verdict: v})
			continue
		}
		c := &pool{Pool: mp}
		c.remaining = remaining(p.snapshot, mp)
		c.compileShapes(p.snapshot.Types(mp.Name), daemons, p.cols, p.opts, reservations)
		p.shelves = append(p.shelves, newShelf(c, len(p.shelves)))
	}
}

func (p *pool) compileShapes(types []*model.InstanceType, daemons []*model.Daemon, cols columns, o Options, reservations map[string]*reservation) {
	onPool := daemonsOn(daemons, p.Taints, o, true)
	matched := false
	for _, t := range types {
		if _, ok := t.Requirements.Intersects(p.Requirements); !ok {
			continue
		}
		matched = true
		if o.MaxNodeCPU > 0 && t.Capacity[corev1.ResourceCPU] > o.MaxNodeCPU {
			continue
		}
		list := offers(t, p.Requirements)
		if len(list) == 0 {
			continue
		}
		sh := &shape{pool: p, typ: t, reqs: t.Requirements.And(p.Requirements)}
		for _, sh := range sh.split(list, reservations) {
			sh.load(overhead(onPool, sh.offered(), o), cols)
			p.shapes = append(p.shapes, sh)
		}
	}
	slices.SortStableFunc(p.shapes, func(a, b *shape) int {
		return cmp.Or(cmp.Compare(a.typ.Name, b.typ.Name), cmp.Compare(a.reservation(), b.reservation()))
	})
	p.parted()
	switch {
	case len(p.shapes) > 0:
	case matched:
		p.empty = model.Verdict{Rule: model.RuleOffering, Subject: "every instance type that the pool allows is out"}
	default:
		p.empty = model.Verdict{Rule: model.RuleLabels, Subject: "the pool's requirements match no instance type"}
	}
}

// parted finds which shapes draw on which reservation.
func (p *pool) parted() {
	if !slices.ContainsFunc(p.shapes, func(sh *shape) bool { return sh.reserved != nil }) {
		return
	}
	p.drawing = map[*reservation]mask{}
	for i, sh := range p.shapes {
		if p.drawing[sh.reserved] == nil {
			p.drawing[sh.reserved] = newMask(len(p.shapes))
		}
		p.drawing[sh.reserved].set(i)
	}
}

func (sh *shape) reservation() string {
	if sh.reserved == nil {
		return ""
	}
	return sh.reserved.id
}

// load takes what daemons ask for out of the room.
func (sh *shape) load(with burden, cols columns) {
	sh.overhead, sh.ports, sh.bearers = with.sum, with.ports, with.bearers
	sh.room = cols.vector(sh.typ.Allocatable)
	subtract(sh.room, cols.vector(with.sum), 1)
	sh.scaled = cols.scale(sh.room)
}

// offered returns the labels of nodes that are launched as the shape, in any of its offerings.
func (sh *shape) offered() require.Set {
	var capacityTypes, zones []string
	for _, o := range sh.offers {
		if !slices.Contains(capacityTypes, o.CapacityType) {
			capacityTypes = append(capacityTypes, o.CapacityType)
		}
		if !slices.Contains(zones, o.Zone) {
			zones = append(zones, o.Zone)
		}
	}
	reqs := sh.reqs.With(require.New(apiv1.CapacityTypeLabelKey, require.In, capacityTypes...))
	if slices.Contains(zones, "") {
		return reqs
	}
	return reqs.With(require.New(corev1.LabelTopologyZone, require.In, zones...))
}

// split returns sh with the offerings that draw from no reservation, and a copy of it for each reservation.
func (sh *shape) split(list []model.Offering, reservations map[string]*reservation) []*shape {
	if !slices.ContainsFunc(list, func(o model.Offering) bool { return o.ReservationID != "" }) {
		sh.offers = list
		return []*shape{sh}
	}
	var out []*shape
	var ids []string
	byID := map[string][]model.Offering{}
	for _, o := range list {
		if o.ReservationID == "" {
			sh.offers = append(sh.offers, o)
			continue
		}
		if o.ReservationCapacity <= 0 {
			continue
		}
		if byID[o.ReservationID] == nil {
			ids = append(ids, o.ReservationID)
		}
		byID[o.ReservationID] = append(byID[o.ReservationID], o)
		r := reservations[o.ReservationID]
		if r == nil {
			r = &reservation{id: o.ReservationID, left: o.ReservationCapacity}
			reservations[o.ReservationID] = r
		}
		r.left = min(r.left, o.ReservationCapacity)
	}
	if len(sh.offers) > 0 {
		out = append(out, sh)
	}
	for _, id := range ids {
		held := *sh
		held.offers, held.reserved = byID[id], reservations[id]
		out = append(out, &held)
	}
	return out
}

// offers returns the available offerings of t that reqs allow, cheapest first. They may be the type's own.
func offers(t *model.InstanceType, reqs require.Set) []model.Offering {
	fit := func(o *model.Offering) bool {
		if !o.Available {
			return false
		}
		_, ok := reqs.Intersects(o.Requirements)
		return ok
	}
	n := 0
	for i := range t.Offerings {
		if fit(&t.Offerings[i]) {
			n++
		}
	}
	out := t.Offerings
	if n < len(out) {
		out = make([]model.Offering, 0, n)
		for i := range t.Offerings {
			if fit(&t.Offerings[i]) {
				out = append(out, t.Offerings[i])
			}
		}
	}
	if !slices.IsSortedFunc(out, model.Offering.Compare) {
		if n == len(t.Offerings) {
			out = slices.Clone(out)
		}
		slices.SortStableFunc(out, model.Offering.Compare)
	}
	return out
}

// A resident is a daemon that tolerates a pool's taints, with the terms one of which a node must satisfy.
type resident struct {
	daemon   *model.Daemon
	requests model.Resources
	ports    []port
	terms    []require.Set
	anywhere bool // some term asks for nothing
}

// daemonsOn returns the daemons that the taints let in. A node to come will have old names of labels as well; on one that is
// there they count as they are.
func daemonsOn(daemons []*model.Daemon, taints []corev1.Taint, o Options, toCome bool) []resident {
	var out []resident
	p := problem{opts: o}
	for _, d := range daemons {
		t := tolerance{list: toleratedBy(d), patient: true}
		if _, refused := t.refuses(taints); refused {
			continue
		}
		if terms, no := p.requiredOf(&d.Pod.Object.Spec); no.OK() {
			for i := range terms {
				if toCome {
					terms[i] = terms[i].Normalize(o.Labels.Aliases)
				}
			}
			anywhere := slices.ContainsFunc(terms, func(t require.Set) bool { return t.Len() == 0 })
			out = append(out, resident{daemon: d, requests: d.Pod.Requests, ports: portsOf(&d.Pod.Object.Spec), terms: terms, anywhere: anywhere})
		}
	}
	return out
}

// toleratedBy returns the tolerations of the daemon's pods.
func toleratedBy(d *model.Daemon) []corev1.Toleration {
	list := slices.Concat(d.Pod.Object.Spec.Tolerations, everyDaemon)
	if d.Pod.Object.Spec.HostNetwork {
		list = append(list, bears(corev1.TaintNodeNetworkUnavailable, corev1.TaintEffectNoSchedule))
	}
	return list
}

// everyDaemon are what the DaemonSet controller has all its pods tolerate.
var everyDaemon = []corev1.Toleration{
	bears(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute),
	bears(corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute),
	bears(corev1.TaintNodeDiskPressure, corev1.TaintEffectNoSchedule),
	bears(corev1.TaintNodeMemoryPressure, corev1.TaintEffectNoSchedule),
	bears(corev1.TaintNodePIDPressure, corev1.TaintEffectNoSchedule),
	bears(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule),
}

func bears(key string, effect corev1.TaintEffect) corev1.Toleration {
	return corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: effect}
}

// started are labels that every node of ours gets, so that daemons may select on them.
var started = require.NewSet(
	require.New(apiv1.NodeRegisteredLabelKey, require.In, "true"),
	require.New(apiv1.NodeInitializedLabelKey, require.In, "true"),
)

// A burden is what the daemons on a node take.
type burden struct {
	sum   model.Resources
	ports []port
	// bearers are those of them that may have volumes.
	bearers []*model.Daemon
}

// overhead sums what the daemons that would run on a node with these requirements ask for.
func overhead(residents []resident, reqs require.Set, o Options) burden {
	var b burden
	if len(residents) == 0 {
		return b
	}
	b.sum = model.Resources{}
	if slices.ContainsFunc(residents, func(r resident) bool { return !r.anywhere }) {
		reqs = reqs.And(started)
	}
	for _, r := range residents {
		if r.anywhere || slices.ContainsFunc(r.terms, func(t require.Set) bool {
			_, ok := reqs.Compatible(t, o.wellKnown)
			return ok
		}) {
			for name, v := range r.requests {
				b.sum[name] += v
			}
			b.ports = append(b.ports, r.ports...)
			if len(r.daemon.Pod.Object.Spec.Volumes) > 0 {
				b.bearers = append(b.bearers, r.daemon)
			}
		}
	}
	return b
}

// wellKnown reports whether a node may get the label key though nothing has defined it yet.
func (o Options) wellKnown(key string) bool { return o.Labels.WellKnown.Has(key) }

// remaining returns what the pool's limits leave over its nodes. A claim that is not launched may become the largest of
// its options, and is counted so.
func remaining(s *model.Snapshot, p *model.Pool) model.Resources {
	if p.Limits == nil {
		return nil
	}
	left := p.Limits.Plus(nil)
	for _, n := range s.Nodes() {
		if n.Pool != p.Name {
			continue
		}
		size := n.Capacity
		if !n.Launched() {
			for _, t := range wishedTypes(n, s.Types(p.Name)) {
				size = size.Max(t.Capacity)
			}
		}
		for name := range left {
			left[name] -= size[name]
		}
	}
	return left
}

// affords returns how many instances of sh limits and reservation still allow, and the first limit in the way when it is
// none.
func (p *pool) affords(sh *shape) (n int64, v model.Verdict) {
	return p.leaves(sh.typ.Capacity, sh.reserved)
}

// leaves is affords for nodes that take that much out of the limits and draw from the reservation, nil for none.
func (p *pool) leaves(toll model.Resources, from *reservation) (n int64, v model.Verdict) {
	n = unlimited
	if from != nil {
		if n = int64(from.left); n <= 0 {
			return 0, model.Verdict{Rule: model.RuleOffering, Subject: "reservation " + from.id + " is used up"}
		}
	}
	if len(p.remaining) == 0 {
		return n, v
	}
	for _, name := range p.remaining.Names() {
		size := toll[name]
		if name == model.Nodes {
			size = 1
		}
		left := p.remaining[name]
		if size <= 0 && left >= 0 {
			continue
		}
		if size > left {
			return 0, model.Verdict{Rule: model.RuleLimit, Resource: name, By: size - left}
		}
		n = min(n, left/size)
	}
	return n, model.Verdict{}
}

// debit takes n nodes like o out of the limits and their reservation.
func (p *pool) debit(o *opened, n int64) {
	if from := p.shapes[o.shape].reserved; from != nil {
		from.left -= int(n)
	}
	toll := o.takes()
	for name := range p.remaining {
		size := toll[name]
		if name == model.Nodes {
			size = 1
		}
		p.remaining[name] -= size * n
	}
}
