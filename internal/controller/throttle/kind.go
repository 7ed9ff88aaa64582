package throttle

import (
	"fmt"
	"time"
)

// A Kind is a kind of action that can be paused or limited.
type Kind int

// The kinds: launches of nodes for pending pods or static NodePools, launches of replacements, and voluntary
// disruptions of nodes.
const (
	Launch Kind = iota
	Replace
	Disrupt
	kinds
)

// of returns the limits for a kind: whether it is paused, and the maximum number per minute, 0 for no limit.
func (l Limits) of(k Kind) (paused bool, most int) {
	switch k {
	case Launch:
		return l.PauseLaunches, l.MaxLaunches
	case Replace:
		return l.PauseLaunches, l.MaxReplacements
	}
	return l.PauseDisruption, l.MaxDisruptions
}

// Left returns the number of further actions of a kind that are allowed now. bounded is false if there is no limit.
func (b *Throttle) Left(k Kind, now time.Time) (n int, bounded bool) {
	if b == nil {
		return 0, false
	}
	paused, most := b.Limits().of(k)
	if paused {
		return 0, true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.done[k].Left(most, now)
}

// Allows reports whether n actions of a kind are allowed now; see Tally.Allows.
func (b *Throttle) Allows(k Kind, n int, now time.Time) bool {
	if b == nil || n == 0 {
		return true
	}
	paused, most := b.Limits().of(k)
	b.mu.Lock()
	defer b.mu.Unlock()
	return !paused && b.done[k].Allows(n, most, now)
}

// Done records n actions of a kind at the time now.
func (b *Throttle) Done(k Kind, n int, now time.Time) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done[k].Add(n, now)
}

// Why returns a text about the limit that applies to a kind, with the key of that limit.
func (b *Throttle) Why(k Kind) string {
	switch paused, most := b.Limits().of(k); {
	case paused && k == Disrupt:
		return "disruption is paused (" + KeyPauseDisruption + ")"
	case paused:
		return "launches are paused (" + KeyPauseLaunches + ")"
	default:
		key := map[Kind]string{Launch: KeyMaxLaunches, Replace: KeyMaxReplacements, Disrupt: KeyMaxDisruptions}[k]
		return fmt.Sprintf("%s (%d) is reached", key, most)
	}
}
