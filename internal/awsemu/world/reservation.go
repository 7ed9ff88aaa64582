package world

import (
	"maps"
	"slices"
	"time"

	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
)

// Reserved is the capacity type of instances whose launch named the reservation in which they run.
const Reserved = "reserved"

// The kinds of reservations. ReservationBlock is also the target capacity type of fleets that use a capacity block, and the market
// type of their instances.
const (
	ReservationDefault = "default"
	ReservationBlock   = "capacity-block"
)

// TargetReserved is the target capacity type of fleets that use only the types of reservations that they list.
const TargetReserved = "reserved-capacity"

// interruptible is the type of an interruptible reservation in the list of a fleet, and the market type of its instances.
const interruptible = "interruptible-capacity-reservation"

// ReservationTypes returns the types of reservations that a fleet can list.
func ReservationTypes() []string {
	return []string{"on-demand-capacity-reservation", ReservationBlock, interruptible}
}

// blockEnd is the time before the end of a capacity block at which EC2 begins to terminate its instances.
const blockEnd = 30 * time.Minute

// A Reservation is capacity of one type in one zone that was bought in advance.
type Reservation struct {
	ID, Type, Zone, ZoneID string
	Owner                  string
	Total                  int
	Kind                   string // default or capacity-block
	Interruptible          bool
	Match                  string // open or targeted
	Start, End             time.Time
	Cancelled              bool
	Tags                   map[string]string
}

// State returns the state of the reservation at the given time: active, cancelled or expired.
func (r *Reservation) State(now time.Time) string {
	switch {
	case r.Cancelled:
		return "cancelled"
	case !r.End.IsZero() && !now.Before(r.End):
		return "expired"
	}
	return "active"
}

// Reserve buys capacity. It sets ID, ZoneID, Owner and Start of the returned reservation, and the defaults of other fields.
func (w *World) Reserve(r Reservation) (Reservation, *wire.Error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	offer, sold := w.region.Offers[r.Type]
	if !sold || !slices.Contains(offer.Zones, r.Zone) {
		return r, wire.Errorf("InvalidParameterValue", "%s is not sold in %s", r.Type, r.Zone)
	}
	if r.Total < 1 {
		return r, wire.Errorf("InvalidParameterValue", "The instance count must be 1 or more")
	}
	r.ID, r.ZoneID, r.Owner, r.Start = w.newID("cr"), w.zoneID(r.Zone), w.cfg.Account, w.cfg.Clock.Now()
	r.Kind, r.Match = firstSet(r.Kind, ReservationDefault), firstSet(r.Match, "open")
	if r.Kind == ReservationBlock {
		r.Match = "targeted"
		if r.End.IsZero() {
			r.End = r.Start.Add(24 * time.Hour)
		}
	}
	r.Tags = maps.Clone(r.Tags)
	w.reservations = append(w.reservations, &r)
	return r, nil
}

// Cancel cancels a reservation. Its instances keep running.
func (w *World) Cancel(id string) *wire.Error {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.reservation(id)
	if r == nil {
		return noReservation(id)
	}
	r.Cancelled = true
	return nil
}

func noReservation(id string) *wire.Error {
	return wire.Errorf("InvalidCapacityReservationId.NotFound", "The capacity reservation '%s' does not exist", id)
}

// Reservations returns copies of all reservations in the order of their creation. available has, for each of them, the
// number of instances that can still be launched into it.
func (w *World) Reservations() (list []Reservation, available []int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle()
	for _, r := range w.reservations {
		list = append(list, *r)
		available = append(available, w.reserveRoom(r))
	}
	return list, available
}

func (w *World) reservation(id string) *Reservation {
	i := slices.IndexFunc(w.reservations, func(r *Reservation) bool { return r.ID == id })
	if i < 0 {
		return nil
	}
	return w.reservations[i]
}

// reserveRoom returns the number of instances that can be launched into the reservation now.
func (w *World) reserveRoom(r *Reservation) int {
	now := w.cfg.Clock.Now()
	if r.State(now) != "active" {
		return 0
	}
	used := 0
	for _, i := range w.order {
		if i.InReservation == r.ID && i.State(now) != Terminated && i.State(now) != Stopped {
			used++
		}
	}
	return max(r.Total-used, 0)
}

// draw sets the reservation of a launch that names one, and open for a launch that may use an open one. A launch that
// names a reservation uses no other capacity; draw returns an error if it does not match the reservation.
func (w *World) draw(l *launch) *Failure {
	if l.data.ReservationID == "" {
		if f := l.fleet; f != nil && l.pool.Capacity == OnDemand && (f.Target == ReservationBlock || f.Target == TargetReserved) {
			return failf("InvalidParameterCombination", "The target capacity type '%s' needs a launch template with a capacity reservation.", f.Target)
		}
		if m := l.data.MarketType; m == ReservationBlock || m == interruptible {
			return invalidMarket()
		}
		if l.pool.Capacity == OnDemand && (l.data.ReservationPreference == "" || l.data.ReservationPreference == "open") {
			l.open = true
		}
		return nil
	}
	r := w.reservation(l.data.ReservationID)
	switch {
	case r == nil || r.State(w.cfg.Clock.Now()) != "active":
		return failf("InvalidCapacityReservationId.NotFound", "The capacity reservation '%s' does not exist", l.data.ReservationID)
	case r.Type != l.pool.Type || r.Zone != l.pool.Zone:
		return failf("InvalidParameterValue",
			"The instance type, platform or Availability Zone does not match that of the capacity reservation '%s'", r.ID)
	case l.data.MarketType != r.market():
		return invalidMarket()
	case l.fleet != nil && !l.fleet.uses(r):
		return failf("InvalidParameterCombination",
			"The target capacity type '%s' with the reservation types %v cannot use the capacity reservation '%s' of the type '%s'.",
			l.fleet.Target, l.fleet.ReservationTypes, r.ID, r.listed())
	}
	l.pool.Capacity, l.reservation = Reserved, r
	return nil
}

// invalidMarket returns the error for a market type that is not that of the reservation.
func invalidMarket() *Failure {
	return failf("InvalidParameterValue", "The market type (purchasing) option is not valid. Choose a different market type and try again.")
}

// market returns the market type that a launch into the reservation must have, "" for none.
func (r *Reservation) market() string {
	switch {
	case r.Kind == ReservationBlock:
		return ReservationBlock
	case r.Interruptible:
		return interruptible
	}
	return ""
}

// listed returns the type of the reservation in the list of a fleet.
func (r *Reservation) listed() string { return firstSet(r.market(), "on-demand-capacity-reservation") }

// uses reports whether the target capacity type of the fleet is for reservations like r.
func (f *Fleet) uses(r *Reservation) bool {
	switch f.Target {
	case TargetReserved:
		return slices.Contains(f.ReservationTypes, r.listed())
	case ReservationBlock:
		return r.Kind == ReservationBlock
	}
	return r.market() == ""
}

// openReservation returns an open reservation with room for one more instance of the launch, nil if there is none.
func (w *World) openReservation(l launch) *Reservation {
	for _, r := range w.reservations {
		if r.Match == "open" && !r.Interruptible && r.Type == l.pool.Type && r.Zone == l.pool.Zone && w.reserveRoom(r) > 0 {
			return r
		}
	}
	return nil
}

// settleReservation sets the reservation in which a new instance runs. An instance in a capacity block is terminated before the
// block ends.
func (w *World) settleReservation(i *Instance, l launch) {
	r := l.reservation
	if r == nil && l.open {
		if r = w.openReservation(l); r != nil {
			i.InReservation = r.ID
		}
		return
	}
	if r == nil {
		return
	}
	i.InReservation, i.ReservationKind, i.Interruptible = r.ID, r.Kind, r.Interruptible
	if r.Kind == ReservationBlock {
		w.end(i, r.End.Add(-blockEnd), "Server.CapacityBlockExpired")
	}
}
