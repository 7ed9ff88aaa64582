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
	Buyable []model.Offering
	// Room is the allocatable capacity less the requests of DaemonSet pods and less the slack (LeaveSlack), by dimension. It
	// can be negative. In the dimension of a CSI driver it is the attach limit less the volumes of DaemonSet pods, at least
	// 0.
	Room []int64
	// Charge is what a node uses of each resource that the limits of the pool limit, see Limits.Left.
	Charge []int64
	// Daemons is what the DaemonSet pods on a node use.
	Daemons Overhead
	// Reservation is the capacity reservation or commitment that instances of the type use, nil for none. Draw is the most
	// of its units that one instance uses, 0 without a Reservation.
	Reservation *Reservation
	Draw        int
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
}

// reservations are the reservations and commitments by ID. The key of a commitment has a prefix before the ID.
type reservations map[string]*Reservation

func (r reservations) get(id string, commitment bool, left int64) *Reservation {
	key := id
	if commitment {
		key = "commitment\x00" + id
	}
	if r[key] == nil {
		r[key] = &Reservation{ID: id, Commitment: commitment, Index: len(r), Left: int(left)}
	}
	return r[key]
}

// labels returns label requirements that every node of the type meets, whichever of its offerings is launched.
func (t *Type) labels() require.Set {
	var capacityTypes, zones []string
	for _, o := range t.Buyable {
		if !slices.Contains(capacityTypes, o.CapacityType) {
			capacityTypes = append(capacityTypes, o.CapacityType)
		}
		if !slices.Contains(zones, o.Zone) {
			zones = append(zones, o.Zone)
		}
	}
	reqs := t.Allowed.With(require.New(apiv1.CapacityTypeLabelKey, require.In, capacityTypes...))
	if slices.Contains(zones, "") {
		return reqs
	}
	return reqs.With(require.New(corev1.LabelTopologyZone, require.In, zones...))
}

// byReservation returns t with the offerings without a reservation, if there are any, and a copy of t for each reservation.
// known has the reservations by ID; byReservation adds new ones.
func (t *Type) byReservation(offerings []model.Offering, known reservations) []*Type {
	if !slices.ContainsFunc(offerings, func(o model.Offering) bool { return o.ReservationID != "" }) {
		t.Buyable = offerings
		return []*Type{t}
	}
	var ids []string
	byID := map[string][]model.Offering{}
	for _, o := range offerings {
		if o.ReservationID == "" {
			t.Buyable = append(t.Buyable, o)
			continue
		}
		if byID[o.ReservationID] == nil {
			ids = append(ids, o.ReservationID)
		}
		byID[o.ReservationID] = append(byID[o.ReservationID], o)
		r := known.get(o.ReservationID, false, int64(o.ReservationCapacity))
		r.Left = min(r.Left, o.ReservationCapacity)
	}
	var out []*Type
	if len(t.Buyable) > 0 {
		out = append(out, t)
	}
	for _, id := range ids {
		reserved := *t
		reserved.Buyable, reserved.Reservation, reserved.Draw = byID[id], known[id], 1
		out = append(out, &reserved)
	}
	return out
}

// byCommitment returns a copy of t for each commitment that has enough units left for an instance of some offering. The
// copy has the offerings of which it can cover an instance, at their covered price. known has the reservations and
// commitments; byCommitment adds new ones.
func (t *Type) byCommitment(offerings []model.Offering, c *commitment.Coverage, known reservations) (out []*Type) {
	byID := map[string]*Type{}
	for _, o := range offerings {
		for _, x := range o.Covers {
			left := c.Left(x.Commitment.ID)
			if x.Use > left {
				continue
			}
			covered := byID[x.Commitment.ID]
			if covered == nil {
				own := *t
				covered = &own
				covered.Buyable, covered.Draw = nil, int(x.Use)
				covered.Reservation = known.get(x.Commitment.ID, true, left)
				byID[x.Commitment.ID] = covered
				out = append(out, covered)
			}
			covered.Draw = max(covered.Draw, int(x.Use))
			covered.Buyable = append(covered.Buyable, o.CoveredBy(x.Commitment))
			r := covered.Reservation
			r.PerUnit = max(r.PerUnit, max(0, o.Price-o.CoveredPrice)/float64(x.Use))
		}
	}
	for _, covered := range out {
		slices.SortStableFunc(covered.Buyable, model.Offering.Compare)
	}
	return out
}

// reservationID returns a text that tells apart the Types of one instance type: the ID of the reservation, "commitment " and
// the ID for a commitment, empty for none.
func (t *Type) reservationID() string {
	switch {
	case t.Reservation == nil:
		return ""
	case t.Reservation.Commitment:
		return "commitment " + t.Reservation.ID
	}
	return t.Reservation.ID
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

// ZonesWithin returns the zones of the Buyable offerings that reqs allow.
func (t *Type) ZonesWithin(reqs require.Set) (zones []string) {
	for _, o := range t.Buyable {
		if _, ok := reqs.Intersects(o.Requirements); ok && !slices.Contains(zones, o.Zone) {
			zones = append(zones, o.Zone)
		}
	}
	return zones
}

// buyable returns the launchable offerings of t that reqs allow, cheapest first. The result may share memory with
// t.Offerings.
func buyable(t *model.InstanceType, reqs require.Set) []model.Offering {
	excluded := func(o model.Offering) bool {
		_, ok := reqs.Intersects(o.Requirements)
		return !ok || !o.Launchable()
	}
	out := t.Offerings
	if slices.ContainsFunc(out, excluded) || !slices.IsSortedFunc(out, model.Offering.Compare) {
		out = slices.DeleteFunc(slices.Clone(out), excluded)
		slices.SortStableFunc(out, model.Offering.Compare)
	}
	return out
}

// CheapestWithin returns the cheapest offering of Buyable that reqs allow, and false if there is none.
func (t *Type) CheapestWithin(reqs require.Set) (model.Offering, bool) {
	for _, o := range t.Buyable {
		if _, ok := reqs.Intersects(o.Requirements); ok {
			return o, true
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
	out := map[string]bool{}
	offered := false
	for _, o := range t.Buyable {
		if r, ok := o.Requirements.Get(key); ok {
			offered = true
			for v := range r.Listed() {
				out[v] = true
			}
		}
	}
	if offered {
		return out
	}
	r, _ := t.Allowed.Get(key)
	for v := range r.Listed() {
		out[v] = true
	}
	return out
}

// OwnValues returns the values of r's label that count for its minValues: those of Values that r admits, none if neither the type
// nor its offerings define the label. A label that only the NodePool defines has the same value on all types.
func (t *Type) OwnValues(r require.Requirement) map[string]bool {
	if !t.Requirements.Has(r.Key()) && !slices.ContainsFunc(t.Buyable, func(o model.Offering) bool { return o.Requirements.Has(r.Key()) }) {
		return nil
	}
	values := t.Values(r.Key())
	maps.DeleteFunc(values, func(v string, _ bool) bool { return !r.Has(v) })
	return values
}
