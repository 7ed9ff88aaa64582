package world

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// A Shift is a zonal shift away from a zone until Expiry.
type Shift struct {
	ID, ZoneID    string
	Start, Expiry time.Time
	// NotApplied is true if another shift has precedence, so that this one has no effect.
	NotApplied bool
	// Unlisted is true if EC2 does not know the instances of the zone while the shift is active, in any call, as in an outage of the zone.
	Unlisted bool
}

// ShiftAway begins a zonal shift away from a zone, which ends after the given time. It sets ID, ZoneID, Start and Expiry of s. A shift in
// progress is replaced.
func (w *World) ShiftAway(zone string, lasts time.Duration, s Shift) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := w.zoneID(zone)
	if id == "" {
		return fmt.Errorf("shift away from %s: there is no such zone", zone)
	}
	now := w.cfg.Clock.Now()
	s.ID, s.ZoneID, s.Start, s.Expiry = w.uuid(), id, now, now.Add(lasts)
	w.shifts[id] = s
	return nil
}

// unlisted reports whether EC2 does not know the instances of a zone, because of an active zonal shift.
func (w *World) unlisted(zone string) bool {
	s, ok := w.shifts[w.zoneID(zone)]
	return ok && s.Unlisted && s.Expiry.After(w.cfg.Clock.Now())
}

// ShiftBack ends the zonal shift away from a zone, or all shifts if the name is empty.
func (w *World) ShiftBack(zone string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if zone == "" {
		w.shifts = map[string]Shift{}
		return
	}
	delete(w.shifts, w.zoneID(zone))
}

// Shifts returns the zonal shifts that have not expired, in order of zone ID.
func (w *World) Shifts() []Shift {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.cfg.Clock.Now()
	var out []Shift
	for _, id := range slices.Sorted(maps.Keys(w.shifts)) {
		if w.shifts[id].Expiry.After(now) {
			out = append(out, w.shifts[id])
		}
	}
	return out
}
