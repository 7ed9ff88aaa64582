package nodepool

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// Health records, for each pool, the results of the last few registrations of its nodes. The controller of claims writes it,
// and RegistrationHealth makes a condition of it. It is safe for concurrent use.
type Health struct {
	mu    sync.Mutex // guards pools
	pools map[types.UID]*record
}

// remembered is how many registrations of a pool count; unhealthyAt is how many failures among them are too many.
const (
	remembered  = 4
	unhealthyAt = remembered / 2
)

// A record is what is remembered of one pool.
type record struct {
	// outcomes are the last registrations, oldest first, remembered at most.
	outcomes []bool
	// reason and message are those of the last failure.
	reason, message string
}

// NewHealth returns a Health that remembers nothing.
func NewHealth() *Health { return &Health{pools: map[types.UID]*record{}} }

// Record notes that a node of the pool with the UID joined the cluster (ok), or did not in time. Call it before writing
// the claim: the change of the claim is what makes RegistrationHealth look.
func (h *Health) Record(pool types.UID, ok bool) {
	if ok {
		h.note(pool, true, "", "")
		return
	}
	h.Fail(pool, apiv1.ReasonRegistrationFailed, "Node did not register in time")
}

// Fail is Record of a failure for a reason that is known better, such as that of a claim that was never launched.
func (h *Health) Fail(pool types.UID, reason, message string) {
	if reason == "" {
		reason = apiv1.ReasonRegistrationFailed
	}
	h.note(pool, false, reason, message)
}

func (h *Health) note(pool types.UID, ok bool, reason, message string) {
	if pool == "" {
		return // A claim made by hand has no pool.
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.pools[pool]
	if r == nil {
		r = &record{}
		h.pools[pool] = r
	}
	r.outcomes = append(r.outcomes, ok)
	if len(r.outcomes) > remembered {
		r.outcomes = r.outcomes[1:]
	}
	if !ok {
		r.reason, r.message = reason, message
	}
}

// A Diagnosis is the health of a pool by its last registrations.
type Diagnosis struct {
	// Known is false if too little is remembered: nothing, or a single failure. Then nothing else is set.
	Known   bool
	Healthy bool
	// Reason and Message are those of the last failure if not Healthy.
	Reason, Message string
}

// Of returns the diagnosis of the pool. The pool is unhealthy if at least unhealthyAt of its remembered registrations
// failed, and healthy if fewer failed and some node joined.
func (h *Health) Of(pool types.UID) Diagnosis {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.pools[pool]
	if r == nil {
		return Diagnosis{}
	}
	failures := 0
	for _, ok := range r.outcomes {
		if !ok {
			failures++
		}
	}
	switch {
	case failures >= unhealthyAt:
	case failures == len(r.outcomes):
		return Diagnosis{}
	default:
		return Diagnosis{Known: true, Healthy: true}
	}
	return Diagnosis{Known: true, Reason: r.reason, Message: r.message}
}

// forget drops what is remembered of the pool.
func (h *Health) forget(pool types.UID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.pools, pool)
}

// retain drops all pools but those given, so that deleted ones do not pile up.
func (h *Health) retain(pools map[types.UID]bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for uid := range h.pools {
		if !pools[uid] {
			delete(h.pools, uid)
		}
	}
}
