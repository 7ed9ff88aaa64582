package sim

import (
	"cmp"
	"container/heap"
	"hash/fnv"
	legacyrand "math/rand"
	"math/rand/v2"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	utilrand "k8s.io/apimachinery/pkg/util/rand"
)

// A Driver carries out one step after another on virtual time. It must be made and used inside a testing/synctest bubble.
//
// Code under test runs in goroutines of its own and stops where it needs something from outside: an answer of the API server
// or the cloud, the next events of a watch, or a time. Calls are kept as arrivals. After each step the driver waits until all
// goroutines of the bubble are blocked. Then it gives each arrival, in the order of their keys, a time at which the call is
// carried out, and carries out the earliest step. So one call is carried out at a time, in an order that only depends on the
// seed.
type Driver struct {
	seed uint64
	wake chan struct{}

	mu       sync.Mutex // guards arrivals
	arrivals []arrival

	steps steps
	made  uint64 // number of steps ever scheduled; breaks ties

	// seeded is the begin of the period for which the sources of libraries are seeded.
	seeded time.Time
}

// An arrival is a call that waits to be scheduled. Admit is called on the driver's goroutine.
type arrival struct {
	key   string
	admit func()
}

// A step is work that is due at a time.
type step struct {
	at   time.Time
	made uint64
	do   func()
}

// steps is a heap of steps. The earliest is first, and of steps at the same time the one that was scheduled first.
type steps []*step

func (s steps) Len() int { return len(s) }
func (s steps) Less(i, j int) bool {
	return cmp.Or(s[i].at.Compare(s[j].at), cmp.Compare(s[i].made, s[j].made)) < 0
}
func (s steps) Swap(i, j int) { s[i], s[j] = s[j], s[i] }
func (s *steps) Push(x any)   { *s = append(*s, x.(*step)) }
func (s *steps) Pop() any {
	old := *s
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*s = old[:len(old)-1]
	return last
}

// NewDriver makes a driver whose choices depend on the seed only.
func NewDriver(seed uint64) *Driver {
	return &Driver{seed: seed, wake: make(chan struct{}, 1)}
}

// Arrive hands a call over from any goroutine. Admit is called later, on the driver's goroutine. Calls that arrive between
// two steps are admitted in the order of their keys.
func (d *Driver) Arrive(key string, admit func()) {
	d.mu.Lock()
	d.arrivals = append(d.arrivals, arrival{key, admit})
	d.mu.Unlock()
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// At schedules a step. A time in the past means now.
func (d *Driver) At(t time.Time, do func()) {
	d.made++
	heap.Push(&d.steps, &step{at: t, made: d.made, do: do})
}

// After schedules a step after a delay.
func (d *Driver) After(delay time.Duration, do func()) { d.At(time.Now().Add(delay), do) }

// Dice returns a source of random numbers that depends only on the seed, the name and the virtual time. So a draw does not
// depend on earlier draws. Of two equal calls at the same time, it does not matter which goroutine made its call first.
func (d *Driver) Dice(name string) Dice {
	h := fnv.New64a()
	h.Write([]byte(name))
	return Dice{rand.New(rand.NewPCG(d.seed^h.Sum64(), uint64(time.Now().UnixNano())))}
}

// Dice is a source of random numbers.
type Dice struct{ *rand.Rand }

// Between returns a delay that is at least low and less than high, or low if high is not greater than low.
func (d Dice) Between(low, high time.Duration) time.Duration {
	if high <= low {
		return low
	}
	return low + time.Duration(d.Int64N(int64(high-low)))
}

// Chance returns true with a probability.
func (d Dice) Chance(p float64) bool { return p > 0 && d.Float64() < p }

// Run carries out steps until a time. After each it calls check, which ends the run by returning false.
func (d *Driver) Run(until time.Time, check func() bool) {
	garbage, restore := collectBetweenSteps()
	defer restore()
	for {
		synctest.Wait()
		garbage.look()
		d.admit()
		next := until
		if len(d.steps) > 0 && d.steps[0].at.Before(until) {
			next = d.steps[0].at
		}
		if now := time.Now(); next.After(now) {
			d.sleep(next.Sub(now))
			continue
		}
		if len(d.steps) == 0 || d.steps[0].at.After(time.Now()) {
			return
		}
		d.reseed()
		heap.Pop(&d.steps).(*step).do()
		if !check() {
			return
		}
	}
}

// seedEvery is the virtual time after which the random sources of libraries are seeded again. Seeding them takes some microseconds,
// which is more than most steps, so it is not done for each step.
const seedEvery = 500 * time.Millisecond

// reseed seeds the random sources that libraries share, once for each period of seedEvery that has a step. Otherwise a goroutine's
// numbers would depend on how many all others drew before it, which differs between runs where processes end or start.
func (d *Driver) reseed() {
	now := time.Now().Truncate(seedEvery)
	if now.Equal(d.seeded) {
		return
	}
	d.seeded = now
	seed := int64(d.seed) ^ now.UnixNano()
	utilrand.Seed(seed)
	//lint:ignore SA1019 the libraries' jitter comes from this source
	legacyrand.Seed(seed)
}

// admit schedules the calls that arrived.
func (d *Driver) admit() {
	d.mu.Lock()
	arrived := d.arrivals
	d.arrivals = nil
	d.mu.Unlock()
	slices.SortStableFunc(arrived, func(a, b arrival) int { return cmp.Compare(a.key, b.key) })
	for _, a := range arrived {
		a.admit()
	}
}

// sleep waits for a time or the next arrival.
func (d *Driver) sleep(delay time.Duration) {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-d.wake:
	}
}
