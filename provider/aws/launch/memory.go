package launch

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/provider/aws/batch"
	"github.com/karpenter-go/karpenter/provider/aws/instances"
	"github.com/karpenter-go/karpenter/provider/aws/ttl"
)

// memory caches the launches of this process. It may be newer than the claims that are read from the API server.
type memory struct {
	clock clock.PassiveClock

	mu       sync.Mutex // guards the fields below
	launched map[types.UID]instances.Instance
	owner    map[string]types.UID // by instance id
	records  map[types.UID]Record
	flights  map[types.UID]*flight

	// settled has the tokens of fleet calls that have a known outcome or were never made. These calls are not repeated.
	// Entries expire after settledLife.
	settled *ttl.Cache[string, bool]

	// calls has, by token, what ended returns. It is zero while this process makes the call. Entries expire after settledLife.
	calls *ttl.Cache[string, time.Time]
}

// settledLife is how long a token stays in settled. It is longer than any claim waits for its launch. If the token is needed
// after that, the outcome of the call is read from EC2, as after a restart.
const settledLife = 15 * time.Minute

// A flight is a pending launch of one claim. memory.mu guards its fields except ticket.
type flight struct {
	ticket *batch.Ticket[instances.Instance]
	// sent is true if the fleet call may have been made. calledOff is true if the claim is being deleted, so that its
	// order is omitted from the call. At most one of them is true.
	sent, calledOff bool
}

func newMemory(c clock.PassiveClock) *memory {
	return &memory{
		clock: c, calls: ttl.New[string, time.Time](c, settledLife),
		launched: map[types.UID]instances.Instance{}, owner: map[string]types.UID{}, records: map[types.UID]Record{},
		settled: ttl.New[string, bool](c, settledLife), flights: map[types.UID]*flight{},
	}
}

func (m *memory) of(uid types.UID) (instances.Instance, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, ok := m.launched[uid]
	return i, ok
}

func (m *memory) give(uid types.UID, i instances.Instance) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.launched[uid], m.owner[i.ID] = i, uid
}

func (m *memory) forget(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(uid)
}

// drop removes all entries of one claim. The caller holds mu.
func (m *memory) drop(uid types.UID) {
	if i, ok := m.launched[uid]; ok {
		delete(m.owner, i.ID)
	}
	delete(m.launched, uid)
	delete(m.records, uid)
	delete(m.flights, uid)
}

// record returns the newest record of the claim. The cached one takes precedence over the annotation, because the claim
// may have been read earlier. An annotation with a later attempt, or with a later time of the same attempt, takes
// precedence. Then another process has made or repeated that attempt while this one was paused.
func (m *memory) record(claim *apiv1.NodeClaim) (Record, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	stored, ok := RecordOf(claim)
	r, known := m.records[claim.UID]
	switch {
	case !known:
		return stored, ok
	case ok && (stored.Attempt > r.Attempt || stored.Attempt == r.Attempt && stored.Time.After(r.Time)):
		return stored, true
	}
	return r, true
}

// ended returns a time at which the recorded call had ended. The time in the record is too early: it is from before the call,
// which may take minutes. The calls of another process have ended when this one calls ended for the first time, because only
// one process launches instances. No call takes longer than settledLife. While this process makes the call, ended returns
// the current time.
func (m *memory) ended(r Record) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock.Now()
	at, known := m.calls.Get(r.Token)
	switch {
	case known && at.IsZero():
		return now
	case known && !at.Before(r.Time): // otherwise another process has repeated the call since
		return at
	case now.Sub(r.Time) >= settledLife:
		return r.Time
	}
	m.calls.Set(r.Token, now)
	return now
}

// end records that the call with the token has ended, with or without a response.
func (m *memory) end(token string) { m.calls.Set(token, m.clock.Now()) }

func (m *memory) settle(token string) { m.settled.Set(token, true) }

func (m *memory) isSettled(token string) bool {
	_, ok := m.settled.Get(token)
	return ok
}

// flight returns the pending launch of the claim, if any.
func (m *memory) flight(uid types.UID) (*batch.Ticket[instances.Instance], bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, ok := m.flights[uid]
	if !ok {
		return nil, false
	}
	if f.ticket.Done() {
		delete(m.flights, uid)
		return nil, false
	}
	return f.ticket, true
}

// depart starts a launch and records it. If a launch of the claim is pending already, it returns that one. If one has ended with an
// instance since the caller looked, it returns the instance and no ticket.
func (m *memory) depart(
	uid types.UID, start func() *batch.Ticket[instances.Instance],
) (instances.Instance, *batch.Ticket[instances.Instance]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if i, ok := m.launched[uid]; ok {
		return i, nil
	}
	if f, ok := m.flights[uid]; ok && !f.ticket.Done() {
		return instances.Instance{}, f.ticket
	}
	f := &flight{ticket: start()}
	m.flights[uid] = f
	return instances.Instance{}, f.ticket
}

// callOff cancels the pending launch of the claim, unless its fleet call may have been made already. It returns the
// ticket of the launch, and false if there is none.
func (m *memory) callOff(uid types.UID) (*batch.Ticket[instances.Instance], bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, ok := m.flights[uid]
	if !ok {
		return nil, false
	}
	f.calledOff = !f.sent
	return f.ticket, true
}

// wanted returns the orders that were not cancelled by callOff, in their order.
func (m *memory) wanted(orders []*order) []*order {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(orders), func(o *order) bool {
		f := m.flights[o.Claim.UID]
		return f != nil && f.calledOff
	})
}

// send records that the call of the record is now made for the orders. If one of the orders was cancelled, it records
// nothing and returns false. An order that repeats an earlier call cannot be cancelled.
func (m *memory) send(orders []*order, r Record) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, o := range orders {
		if f := m.flights[o.Claim.UID]; f != nil && f.calledOff && o.repeat == nil {
			return false
		}
	}
	for _, o := range orders {
		m.records[o.Claim.UID] = r
		if f := m.flights[o.Claim.UID]; f != nil {
			f.sent, f.calledOff = true, false
		}
	}
	m.settled.Delete(r.Token)
	m.calls.Set(r.Token, time.Time{})
	return true
}

// known returns carriers with the instances that this process assigned to them, even if the status of the claims does
// not have them yet.
func (m *memory) known(carriers []Carrier) []Carrier {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]Carrier, len(carriers))
	for n, c := range carriers {
		if i, ok := m.launched[c.UID]; ok && c.Instance == "" {
			c.Instance = i.ID
		}
		out[n] = c
	}
	return out
}

// keep removes the entries of all claims that are not in the map and have no pending launch.
func (m *memory) keep(claims map[types.UID]bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, uids := range []map[types.UID]bool{keys(m.launched), keys(m.records), keys(m.flights)} {
		for uid := range uids {
			if f := m.flights[uid]; !claims[uid] && (f == nil || f.ticket.Done()) {
				m.drop(uid)
			}
		}
	}
}

func keys[V any](m map[types.UID]V) map[types.UID]bool {
	out := make(map[types.UID]bool, len(m))
	for k := range maps.Keys(m) {
		out[k] = true
	}
	return out
}
