package throttle

import "time"

// A Tally counts what was done within the last minute. The zero Tally has counted nothing.
type Tally struct{ done []time.Time }

// Add counts n that are done now. Times must not go backwards.
func (t *Tally) Add(n int, now time.Time) {
	t.forget(now)
	for range n {
		t.done = append(t.done, now)
	}
}

// Left returns how many more the bound allows in the minute that ends now, and false if there is no bound.
func (t *Tally) Left(bound int, now time.Time) (n int, bounded bool) {
	t.forget(now)
	return max(0, bound-len(t.done)), bound > 0
}

// forget drops what was done more than a minute ago.
func (t *Tally) forget(now time.Time) {
	for len(t.done) > 0 && now.Sub(t.done[0]) >= time.Minute {
		t.done = t.done[1:]
	}
}

// Allows reports whether n may be done now, all of them or none. More than the bound allows in a whole minute may be done
// when nothing was within the last one: what cannot be split would never be done else.
func (t *Tally) Allows(n, bound int, now time.Time) bool {
	left, bounded := t.Left(bound, now)
	return !bounded || n <= left || len(t.done) == 0
}
