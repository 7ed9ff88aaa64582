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
}

// ShiftAway begins a zonal shift away from a zone. A shift in progress is replaced. If applied is false, the shift has no effect.
func (w *World) ShiftAway(zone string, lasts time.Duration, applied bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := w.zoneID(zone)
	if id == "" {
		return fmt.Errorf("shift away from %s: there is no such zone", zone)
	}
	now := w.cfg.Clock.Now()
	w.shifts[id] = Shift{ID: w.uuid(), ZoneID: id, Start: now, Expiry: now.Add(lasts), NotApplied: !applied}
	return nil
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
