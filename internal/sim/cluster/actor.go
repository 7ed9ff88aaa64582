package cluster

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"time"
)

// ref names an object.
type ref struct{ kind, namespace, name string }

func (r ref) compare(o ref) int {
	if c := strings.Compare(r.kind, o.kind); c != 0 {
		return c
	}
	if c := strings.Compare(r.namespace, o.namespace); c != 0 {
		return c
	}
	return strings.Compare(r.name, o.name)
}

// A reconcile function brings one object to its desired state. The object may not exist any more. The function returns when
// it must be called again if no object changes; the zero time means never.
type reconcile func(now time.Time, r ref) (time.Time, error)

// An Actor calls the reconcilers of objects that changed or are due.
type Actor struct {
	name        string
	reconcilers map[string]reconcile // by kind
	any         reconcile            // of all other kinds, if it is set
	// dirty are objects that changed, and due are times at which objects need attention.
	dirty map[ref]bool
	due   map[ref]time.Time
	// latency is the longest time between a change and the reaction to it.
	latency time.Duration
	seed    uint64
}

func newActor(name string, c *Cluster) *Actor {
	return &Actor{
		name: name, reconcilers: map[string]reconcile{}, dirty: map[ref]bool{}, due: map[ref]time.Time{}, latency: c.latency, seed: c.seed,
	}
}

// Name returns the name of the actor.
func (a *Actor) Name() string { return a.name }

// changed marks an object for the next Step, if the actor has a reconciler of its kind.
func (a *Actor) changed(kind, namespace, name string) {
	if a.reconcilers[kind] != nil {
		a.dirty[ref{kind, namespace, name}] = true
	}
}

// maxRounds bounds one Step. Reconcilers that undo the writes of each other would never end.
const maxRounds = 1000

// Step reconciles all objects that changed or are due, in the order of their kinds, namespaces and names. It repeats that
// until there are no more. It returns when the next object is due.
func (a *Actor) Step(now time.Time) (time.Time, error) {
	for round := 0; ; round++ {
		refs := a.take(now)
		if len(refs) == 0 {
			break
		}
		if round == maxRounds {
			return time.Time{}, fmt.Errorf("%s: %v does not settle after %d rounds", a.name, refs[0], maxRounds)
		}
		for _, r := range refs {
			f := a.reconcilers[r.kind]
			if f == nil {
				f = a.any
			}
			next, err := f(now, r)
			if err != nil {
				return time.Time{}, fmt.Errorf("%s: %s %s/%s: %w", a.name, r.kind, r.namespace, r.name, err)
			}
			if !next.IsZero() {
				a.due[r] = earliest(a.due[r], next)
			}
		}
	}
	return a.next(), nil
}

// take removes and returns the objects that changed or are due. With a latency, objects that changed are due later.
func (a *Actor) take(now time.Time) []ref {
	if a.latency > 0 {
		for r := range a.dirty {
			at := now.Add(between(0, a.latency, a.seed, a.name, r.kind, r.namespace, r.name, now.String()))
			a.due[r] = earliest(a.due[r], at)
		}
		clear(a.dirty)
	}
	for r, at := range a.due {
		if !at.After(now) {
			a.dirty[r] = true
		}
	}
	refs := slices.SortedFunc(maps.Keys(a.dirty), ref.compare)
	for _, r := range refs {
		delete(a.due, r)
	}
	clear(a.dirty)
	return refs
}

// next returns the earliest time at which an object is due.
func (a *Actor) next() time.Time {
	var next time.Time
	for _, at := range a.due {
		next = earliest(next, at)
	}
	return next
}

// earliest returns the earlier of two times, of which the zero time means never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// draw returns a number in [0, 1) that depends on the seed and the words alone.
func draw(seed uint64, words ...string) float64 {
	h := fnv.New64a()
	fmt.Fprint(h, seed)
	for _, w := range words {
		h.Write([]byte{0})
		h.Write([]byte(w))
	}
	// In FNV, the last bytes do not affect all bits. Shifts and another multiplication spread them.
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return float64(x>>11) / (1 << 53)
}

// between returns a duration in [low, high) that depends on the seed and the words alone.
func between(low, high time.Duration, seed uint64, words ...string) time.Duration {
	return low + time.Duration(draw(seed, words...)*float64(high-low))
}
