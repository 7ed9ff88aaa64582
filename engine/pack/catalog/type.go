package catalog

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/binpack/vector"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// A Type is an instance type as one NodePool launches it. Each capacity reservation of the instance type is a Type of
// its own. One more Type has the offerings without a reservation.
type Type struct {
	*model.InstanceType
	Pool *Pool
	// Allowed are the combined requirements of the instance type and of the NodePool.
	Allowed require.Set
	// Buyable are the available offerings that the NodePool allows, cheapest first. There is at least one.
	Buyable []model.Offering
	// Room is the allocatable capacity less the requests of DaemonSet pods, by dimension.
	Room []int64
	// Daemons is what the DaemonSet pods on a node use.
	Daemons Overhead
	// Reservation is the capacity reservation that instances of the type use, nil for none.
	Reservation *Reservation
}

// A Reservation is a capacity reservation, which is paid for in advance. Several types may share it.
type Reservation struct {
	ID    string
	Index int // index in Limits.reservations
	Left  int // instances that can still be launched, at the time of the snapshot
}

// setRoom sets Daemons and Room of the type. daemons is what DaemonSet pods use on a node.
func (t *Type) setRoom(daemons Overhead, d *Dimensions) {
	t.Daemons = daemons
	t.Room = d.Vector(t.Allocatable)
	vector.Subtract(t.Room, d.Vector(daemons.Requests), 1)
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

// byReservation returns t with the offerings without a reservation, and a copy of t for each reservation. known has the
// reservations by ID; byReservation adds new ones.
func (t *Type) byReservation(offerings []model.Offering, known map[string]*Reservation) []*Type {
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
		r := known[o.ReservationID]
		if r == nil {
			r = &Reservation{ID: o.ReservationID, Index: len(known), Left: o.ReservationCapacity}
			known[o.ReservationID] = r
		}
		r.Left = min(r.Left, o.ReservationCapacity)
	}
	var out []*Type
	if len(t.Buyable) > 0 {
		out = append(out, t)
	}
	for _, id := range ids {
		reserved := *t
		reserved.Buyable, reserved.Reservation = byID[id], known[id]
		out = append(out, &reserved)
	}
	return out
}

// reservationID returns the ID of the reservation, empty for none.
func (t *Type) reservationID() string {
	if t.Reservation == nil {
		return ""
	}
	return t.Reservation.ID
}

// buyable returns the launchable offerings of t that reqs allow, cheapest first. The result may share memory with
// t.Offerings.
func buyable(t *model.InstanceType, reqs require.Set) []model.Offering {
	fit := func(o *model.Offering) bool {
		if !o.Launchable() {
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

// CheapestWithin returns the cheapest offering that reqs allow, and false if there is none.
func (t *Type) CheapestWithin(reqs require.Set) (model.Offering, bool) {
	for _, o := range t.Buyable {
		if _, ok := reqs.Intersects(o.Requirements); ok {
			return o, true
		}
	}
	return model.Offering{}, false
}

// price returns the price of the cheapest offering that reqs allow, +Inf if there is none.
func (t *Type) price(reqs require.Set) float64 {
	if _, ok := t.Allowed.Intersects(reqs); !ok {
		return math.Inf(1)
	}
	if o, ok := t.CheapestWithin(reqs); ok {
		return o.Price
	}
	return math.Inf(1)
}

// Values returns the values of a label that nodes of the type may have. If offerings define the label, it returns their
// values, otherwise those of Allowed. It returns none if the values are not known.
func (t *Type) Values(key string) map[string]bool {
	out := map[string]bool{}
	offered := false
	for _, o := range t.Buyable {
		if r, ok := o.Requirements.Get(key); ok {
			offered = true
			for v := range r.Each() {
				out[v] = true
			}
		}
	}
	if offered {
		return out
	}
	if r, ok := t.Allowed.Get(key); ok && r.Operator() == corev1.NodeSelectorOpIn {
		for v := range r.Each() {
			out[v] = true
		}
	}
	return out
}
