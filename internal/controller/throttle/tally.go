package throttle

import "time"

// A Tally counts the actions of the last minute. The zero Tally has none.
type Tally struct{ done []time.Time }

// Add records n actions at the time now. Times of successive calls must not decrease.
func (t *Tally) Add(n int, now time.Time) {
	t.forget(now)
	for range n {
		t.done = append(t.done, now)
	}
}

// Left returns the number of further actions that bound allows in the minute that ends now. bounded is false if bound is 0, which
// means no limit.
func (t *Tally) Left(bound int, now time.Time) (n int, bounded bool) {
	t.forget(now)
	return max(0, bound-len(t.done)), bound > 0
}

// forget removes the actions of more than a minute ago.
func (t *Tally) forget(now time.Time) {
	for len(t.done) > 0 && now.Sub(t.done[0]) >= time.Minute {
		t.done = t.done[1:]
	}
}

// Allows reports whether n actions are allowed together now. If n is greater than bound, they are allowed after a minute without
// actions, because otherwise they would never be allowed.
func (t *Tally) Allows(n, bound int, now time.Time) bool {
	left, bounded := t.Left(bound, now)
	return !bounded || n <= left || len(t.done) == 0
}
