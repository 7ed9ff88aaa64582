// Package history stores past states for the dashboard: moments of the fleet, and trends.
//
// Both are bounded and are lost on a restart. That does no harm, because no decision reads them. Costs and decisions
// are also in the ledger and the decision log, which are stored.
package history

import (
	"math"
	"slices"
	"sort"
	"time"

	"github.com/karpenter-go/karpenter/internal/dashboard/view"
)

// Bounds of the moments: their number, the bytes of their tiles, and their age.
const (
	maxMoments = 500
	maxBytes   = 24 << 20
	maxAge     = 24 * time.Hour
)

// A Moment is the fleet at one time.
type Moment struct {
	At    time.Time
	Strip view.Strip
	Tiles []*view.Tile
	// bytes is the size of the list of tiles, and of those tiles that the previous moment does not have.
	bytes int
}

// Moments are the stored moments of the fleet. They share the tiles of nodes that do not change between them. If there are
// too many moments or bytes, some are removed, so that the time between two moments is roughly proportional to their age.
// The zero value is empty. It must not be used concurrently.
type Moments struct {
	list  []Moment
	bytes int
}

// Add adds a moment, which must be later than all others. tiles are in the order of their IDs.
func (m *Moments) Add(at time.Time, strip view.Strip, tiles []*view.Tile) {
	m.list = append(m.list, Moment{At: at, Strip: strip, Tiles: tiles})
	m.measure(len(m.list) - 1)
	for len(m.list) > 1 && m.list[0].At.Before(at.Add(-maxAge)) {
		m.remove(0)
	}
	for len(m.list) > maxMoments || m.bytes > maxBytes && len(m.list) > 1 {
		m.remove(m.densest())
	}
}

// measure sets the size of the moment with index i.
func (m *Moments) measure(i int) {
	x := &m.list[i]
	size := 8*len(x.Tiles) + 300
	var before []*view.Tile
	if i > 0 {
		before = m.list[i-1].Tiles
	}
	for _, t := range x.Tiles {
		for len(before) > 0 && before[0].ID < t.ID {
			before = before[1:]
		}
		if len(before) == 0 || before[0] != t {
			size += t.Bytes()
		}
	}
	m.bytes += size - x.bytes
	x.bytes = size
}

// remove removes the moment with index i.
func (m *Moments) remove(i int) {
	m.bytes -= m.list[i].bytes
	m.list = slices.Delete(m.list, i, i+1)
	if i < len(m.list) {
		m.measure(i)
	}
}

// densest returns the index of the moment whose two neighbours are closest to each other in time, relative to its age.
// It returns neither the first nor the last moment, except 0 if there are fewer than three moments.
func (m *Moments) densest() int {
	newest := m.list[len(m.list)-1].At
	best, least := 0, math.Inf(1)
	for i := 1; i+1 < len(m.list); i++ {
		gap := m.list[i+1].At.Sub(m.list[i-1].At)
		if ratio := gap.Seconds() / newest.Sub(m.list[i].At).Seconds(); ratio < least {
			best, least = i, ratio
		}
	}
	return best
}

// Bytes returns an estimate of the memory that the moments use.
func (m *Moments) Bytes() int { return m.bytes }

// Times returns the times of the moments, oldest first.
func (m *Moments) Times() []time.Time {
	out := make([]time.Time, len(m.list))
	for i := range m.list {
		out[i] = m.list[i].At
	}
	return out
}

// At returns the last moment that is not later than the time, or the first one if all are later. It returns false if there
// are none.
func (m *Moments) At(t time.Time) (Moment, bool) {
	if len(m.list) == 0 {
		return Moment{}, false
	}
	i := sort.Search(len(m.list), func(i int) bool { return m.list[i].At.After(t) })
	return m.list[max(i-1, 0)], true
}

// Last returns the time of the last moment, zero if there is none.
func (m *Moments) Last() time.Time {
	if len(m.list) == 0 {
		return time.Time{}
	}
	return m.list[len(m.list)-1].At
}
