package catalog

import (
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/commitment"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// A Type is an instance type as one NodePool launches it. Each capacity reservation of the instance type is a Type of its
// own, and so is each commitment with enough units left for an instance. One more Type has the offerings without a
// reservation, if there are any, at their prices without commitments.
type Type struct {
	*model.InstanceType
	Pool *Pool
	// Allowed are the combined requirements of the instance type and of the NodePool.
	Allowed require.Set
	// Buyable are the launchable offerings of the Type that the NodePool allows, cheapest first. There is at least one.
	Buyable []*model.Offering
	// Room is the allocatable capacity less the requests of DaemonSet pods and less the slack (LeaveSlack), by dimension. It
	// can be negative. In the dimension of a CSI driver it is the attach limit less the volumes of DaemonSet pods, at least
	// 0.
	Room []int64
	// Charge is what a node uses of each resource that the limits of the pool limit, see Limits.Left.
	Charge []int64
	// Daemons is what the DaemonSet pods on a node use.
	Daemons Overhead
	// overhead is the index of Daemons.Requests in Pool.overheads.
	overhead int
	// Reservation is the capacity reservation or commitment that instances of the type use, nil for none. Draw is the most
	// of its units that one instance uses, 0 without a Reservation.
	Reservation *Reservation
	Draw        int

	name string // the name of the instance type, a space and Reservation.key; it differs between the Types of a pool
}

// A Reservation is a capacity reservation or a commitment, which is paid for in advance. Several types may share it. The
// unit of a capacity reservation is an instance.
type Reservation struct {
	ID         string
	Commitment bool
	Index      int // index in Limits.reservations
	Left       int // units that can still be used, at the time of the snapshot
	// PerUnit is the most that a unit of a commitment saves, in dollars per hour.
	PerUnit float64

	key string // the ID of a capacity reservation, "commitment " and the ID for a commitment
}

// reservations are the reservations and commitments by Reservation.key.
type reservations map[string]*Reservation

// get returns the reservation with the key. If there is none, it adds one.
func (r reservations) get(key, id string, left int64) *Reservation {
	if r[key] == nil {
		r[key] = &Reservation{ID: id, Commitment: key != id, Index: len(r), Left: int(left), key: key}
	}
	return r[key]
}

// labels returns label requirements that every node of the type meets, whichever of its offerings is launched.
func (t *Type) labels() require.Set {
	var capacityTypes, zones []string
	for _, o := range t.Buyable {
		capacityTypes, zones = append(capacityTypes, o.CapacityType), append(zones, o.Zone)
	}
	reqs := t.Allowed.With(require.New(apiv1.CapacityTypeLabelKey, require.In, capacityTypes...))
	if slices.Contains(zones, "") {
		return reqs
	}
	return reqs.With(require.New(corev1.LabelTopologyZone, require.In, zones...))
}

// byReservation returns copies of t with different Buyable: one has the offerings without a reservation, if there are any, and
// one for each capacity reservation has its offerings. One for each commitment has the offerings of which it can cover an
// instance with the units left, at their covered price. known has the reservations and commitments; byReservation adds
// new ones. c may be nil if no commitment covers an offering.
func (t *Type) byReservation(c *commitment.Coverage, known reservations) []*Type {
	var out []*Type
	add := func(r *Reservation, draw int64, o *model.Offering) {
		i := slices.IndexFunc(out, func(x *Type) bool { return x.Reservation == r })
		if i < 0 {
			i = len(out)
			part := *t
			part.Reservation, part.Buyable = r, make([]*model.Offering, 0, len(t.Offerings))
			if part.name = t.Name + " "; r != nil {
				part.name += r.key
			}
			out = append(out, &part)
		}
		out[i].Buyable, out[i].Draw = append(out[i].Buyable, o), max(out[i].Draw, int(draw))
	}
	for i := range t.Offerings {
		o := &t.Offerings[i]
		if _, ok := t.Pool.Requirements.Intersects(o.Requirements); !ok || !o.Launchable() {
			continue
		}
		if o.ReservationID == "" {
			add(nil, 0, o)
		} else {
			r := known.get(o.ReservationID, o.ReservationID, int64(o.ReservationCapacity))
			r.Left = min(r.Left, o.ReservationCapacity)
			add(r, 1, o)
		}
		for _, x := range o.Covers {
			id := x.Commitment.ID
			if left := c.Left(id); x.Use <= left {
				r := known.get("commitment "+id, id, left)
				r.PerUnit = max(r.PerUnit, max(0, o.Price-o.CoveredPrice)/float64(x.Use))
				covered := o.CoveredBy(x.Commitment)
				add(r, x.Use, &covered)
			}
		}
	}
	for _, part := range out {
		slices.SortStableFunc(part.Buyable, func(a, b *model.Offering) int { return a.Compare(*b) })
	}
	return out
}

// CoversAll reports whether reqs allow a launchable offering of t, and the commitment of t covers every launchable offering
// that reqs allow. t must have a commitment.
func (t *Type) CoversAll(reqs require.Set) bool {
	some := false
	for _, o := range t.Offerings {
		if _, ok := reqs.Intersects(o.Requirements); !ok || !o.Launchable() {
			continue
		}
		if o.UseOf(t.Reservation.ID) == 0 {
			return false
		}
		some = true
	}
	return some
}

// CheapestWithin returns the cheapest offering of Buyable that reqs allow, and false if there is none.
func (t *Type) CheapestWithin(reqs require.Set) (model.Offering, bool) {
	for _, o := range t.Buyable {
		if _, ok := reqs.Intersects(o.Requirements); ok {
			return *o, true
		}
	}
	return model.Offering{}, false
}

// unitShare is the price of a unit of a commitment for the packer, as a share of what it saves. It makes the packer use
// units where they save most.
const unitShare = 1e-7

// packedPrice returns the price by which the packer chooses the type, +Inf if reqs allow none of its offerings. Without a
// commitment, it is the price of the cheapest offering that reqs allow. With one, it is CoveredPrice of Buyable[0], the
// cheapest covered offering, even if reqs exclude that one. To it is added unitShare of the most that one instance saves:
// Draw times PerUnit.
func (t *Type) packedPrice(reqs require.Set) float64 {
	if _, ok := t.Allowed.Intersects(reqs); !ok {
		return math.Inf(1)
	}
	cheapest, ok := t.CheapestWithin(reqs)
	switch r := t.Reservation; {
	case !ok:
		return math.Inf(1)
	case r != nil && r.Commitment:
		return t.Buyable[0].CoveredPrice + unitShare*float64(t.Draw)*r.PerUnit
	}
	return cheapest.Price
}

// Values returns the values of a label that nodes of the type may have. If offerings define the label, it returns their
// values, otherwise those that Allowed lists. It returns none if the values are not listed or nodes lack the label.
func (t *Type) Values(key string) map[string]bool {
	var sources []require.Set
	for _, o := range t.Buyable {
		if o.Requirements.Has(key) {
			sources = append(sources, o.Requirements)
		}
	}
	if len(sources) == 0 {
		sources = []require.Set{t.Allowed}
	}
	out := map[string]bool{}
	for _, s := range sources {
		r, _ := s.Get(key)
		for v := range r.Listed() {
			out[v] = true
		}
	}
	return out
}

// OwnValues returns the values of r's label that count for its minValues: those of Values that r admits, none if neither the type
// nor its offerings define the label. A label that only the NodePool defines has the same value on all types.
func (t *Type) OwnValues(r require.Requirement) map[string]bool {
	if !t.Requirements.Has(r.Key()) && !slices.ContainsFunc(t.Buyable, func(o *model.Offering) bool { return o.Requirements.Has(r.Key()) }) {
		return nil
	}
	values := t.Values(r.Key())
	maps.DeleteFunc(values, func(v string, _ bool) bool { return !r.Has(v) })
	return values
}
