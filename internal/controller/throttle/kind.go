package throttle

import "time"

// A Kind is something that can be held back.
type Kind int

// The kinds: nodes launched for pods that wait or for pools of a fixed size, nodes launched in the place of others, and
// nodes that go by choice.
const (
	Launch Kind = iota
	Replace
	Disrupt
	kinds
)

// of returns the limits for a kind.
func (l Limits) of(k Kind) (paused bool, most int) {
	switch k {
	case Launch:
		return l.PauseLaunches, l.MaxLaunches
	case Replace:
		return l.PauseLaunches, l.MaxReplacements
	}
	return l.PauseDisruption, l.MaxDisruptions
}

// Left returns how many more of a kind may be done now, and false if any number may.
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

// Allows reports whether n of a kind may be done now, all or none; see Tally.Allows.
func (b *Throttle) Allows(k Kind, n int, now time.Time) bool {
	if b == nil || n == 0 {
		return true
	}
	paused, most := b.Limits().of(k)
	b.mu.Lock()
	defer b.mu.Unlock()
	return !paused && b.done[k].Allows(n, most, now)
}

// Done counts n of a kind that are done now.
func (b *Throttle) Done(k Kind, n int, now time.Time) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done[k].Add(n, now)
}

// Why says in words what holds a kind back.
func (b *Throttle) Why(k Kind) string {
	if paused, _ := b.Limits().of(k); paused {
		if k == Disrupt {
			return "The pause of disruption"
		}
		return "The pause of launches"
	}
	return "The bound of nodes a minute"
}
