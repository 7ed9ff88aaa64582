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

// launchCache has the launches of this process. It may be newer than the claims that are read from the API server.
type launchCache struct {
	clock clock.PassiveClock

	mu       sync.Mutex                       // guards the three maps
	launched map[types.UID]instances.Instance // by claim
	records  map[types.UID]Record             // of the last call for each claim
	pending  map[types.UID]*pendingLaunch     // by claim; an entry may have a result already

	// outcomeKnown has the tokens of fleet calls that have a known outcome or were never made. These calls are not repeated.
	// Entries expire after tokenLife.
	outcomeKnown *ttl.Cache[string, bool]

	// callEnds has, by token, what observeEnd returns. It is zero while this process makes the call. Entries expire after tokenLife.
	callEnds *ttl.Cache[string, time.Time]
}

// tokenLife is how long the state of a fleet call is cached. It is longer than any call takes and than any claim waits for its
// launch. If the outcome is needed after that, it is read from EC2, as after a restart.
const tokenLife = 15 * time.Minute

// A pendingLaunch is the launch of one claim whose fleet call has no result yet. launchCache.mu guards its fields except ticket.
type pendingLaunch struct {
	ticket *batch.Ticket[instances.Instance]
	// sent is true if the fleet call may have been made. cancelled is true if the claim is being deleted, so that its
	// order is omitted from the call. At most one of them is true.
	sent, cancelled bool
}

func newLaunchCache(c clock.PassiveClock) *launchCache {
	return &launchCache{
		clock: c, launched: map[types.UID]instances.Instance{}, records: map[types.UID]Record{}, pending: map[types.UID]*pendingLaunch{},
		outcomeKnown: ttl.New[string, bool](c, tokenLife), callEnds: ttl.New[string, time.Time](c, tokenLife),
	}
}

// instanceOf returns the instance of the claim, and false if none is cached.
func (c *launchCache) instanceOf(claim types.UID) (instances.Instance, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, ok := c.launched[claim]
	return i, ok
}

func (c *launchCache) setInstance(claim types.UID, i instances.Instance) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.launched[claim] = i
}

// addInstances returns the claims with the instances that are cached for them, even if the status of the claims does not have
// them yet.
func (c *launchCache) addInstances(claims []callClaim) []callClaim {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := slices.Clone(claims)
	for n := range out {
		if i, ok := c.launched[out[n].UID]; ok && out[n].Instance == "" {
			out[n].Instance = i.ID
		}
	}
	return out
}

// record returns the newest record of the claim. The cached one takes precedence over the annotation, because the claim
// may have been read earlier. An annotation with a later attempt, or with a later time of the same attempt, takes
// precedence. Then another process has made or repeated that attempt while this one was paused.
func (c *launchCache) record(claim *apiv1.NodeClaim) (Record, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	stored, ok := RecordOf(claim)
	r, known := c.records[claim.UID]
	switch {
	case !known:
		return stored, ok
	case ok && (stored.Attempt > r.Attempt || stored.Attempt == r.Attempt && stored.Time.After(r.Time)):
		return stored, true
	}
	return r, true
}

// observeEnd returns a time at which the recorded call had ended. The time in the record is too early: it is from before the
// call, which may take minutes. While this process makes the call, observeEnd returns the current time. The calls of another
// process have ended when this one calls observeEnd for the first time, because only one process launches instances. observeEnd
// stores that time. No call takes longer than tokenLife.
func (c *launchCache) observeEnd(r Record) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	at, known := c.callEnds.Get(r.Token)
	switch {
	case known && at.IsZero():
		return now
	case known && !at.Before(r.Time): // otherwise another process has repeated the call since
		return at
	case now.Sub(r.Time) >= tokenLife:
		return r.Time
	}
	c.callEnds.Set(r.Token, now)
	return now
}

// setEnded records that the call with the token has ended, with or without a response.
func (c *launchCache) setEnded(token string) { c.callEnds.Set(token, c.clock.Now()) }

func (c *launchCache) setOutcomeKnown(token string) { c.outcomeKnown.Set(token, true) }

func (c *launchCache) isOutcomeKnown(token string) bool {
	_, ok := c.outcomeKnown.Get(token)
	return ok
}

// ticketOf returns the ticket of the pending launch of the claim, and false if there is none or it has a result.
func (c *launchCache) ticketOf(claim types.UID) (*batch.Ticket[instances.Instance], bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pending[claim]
	if p == nil || p.ticket.Done() {
		return nil, false
	}
	return p.ticket, true
}

// start adds a pending launch of the claim with the ticket that submit returns. It does not call submit if a launch of the claim is
// pending already, and returns the ticket of that one. If a launch has ended with an instance since the caller looked, it returns
// the instance and no ticket.
func (c *launchCache) start(
	claim types.UID, submit func() *batch.Ticket[instances.Instance],
) (instances.Instance, *batch.Ticket[instances.Instance]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i, ok := c.launched[claim]; ok {
		return i, nil
	}
	if p := c.pending[claim]; p != nil && !p.ticket.Done() {
		return instances.Instance{}, p.ticket
	}
	p := &pendingLaunch{ticket: submit()}
	c.pending[claim] = p
	return instances.Instance{}, p.ticket
}

// cancel cancels the pending launch of the claim, unless its fleet call may have been made already. It returns the
// ticket of the launch, and false if there is none.
func (c *launchCache) cancel(claim types.UID) (*batch.Ticket[instances.Instance], bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, ok := c.pending[claim]
	if !ok {
		return nil, false
	}
	p.cancelled = !p.sent
	return p.ticket, true
}

// notCancelled returns the orders whose launch was not cancelled, in their order.
func (c *launchCache) notCancelled(orders []*order) []*order {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(orders), func(o *order) bool { return c.isCancelled(o) })
}

// isCancelled reports whether the launch of the order was cancelled. The caller holds mu.
func (c *launchCache) isCancelled(o *order) bool {
	p := c.pending[o.Claim.UID]
	return p != nil && p.cancelled
}

// setSent records that the recorded call is now made for the orders, so they cannot be cancelled any more. If one of them was
// cancelled, it records nothing and returns false. An order that repeats an earlier call cannot be cancelled.
func (c *launchCache) setSent(orders []*order, r Record) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.ContainsFunc(orders, func(o *order) bool { return o.repeat == nil && c.isCancelled(o) }) {
		return false
	}
	for _, o := range orders {
		c.records[o.Claim.UID] = r
		if p := c.pending[o.Claim.UID]; p != nil {
			p.sent, p.cancelled = true, false
		}
	}
	c.outcomeKnown.Delete(r.Token)
	c.callEnds.Set(r.Token, time.Time{})
	return true
}

// remove removes all entries of the claim.
func (c *launchCache) remove(claim types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.launched, claim)
	delete(c.records, claim)
	delete(c.pending, claim)
}

// keep removes the entries of all claims that are not in the map and have no pending launch.
func (c *launchCache) keep(claims map[types.UID]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.pending, func(claim types.UID, p *pendingLaunch) bool { return !claims[claim] && p.ticket.Done() })
	unused := func(claim types.UID) bool { return !claims[claim] && c.pending[claim] == nil }
	maps.DeleteFunc(c.launched, func(claim types.UID, _ instances.Instance) bool { return unused(claim) })
	maps.DeleteFunc(c.records, func(claim types.UID, _ Record) bool { return unused(claim) })
}
