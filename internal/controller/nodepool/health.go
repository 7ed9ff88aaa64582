package nodepool

import (
	"cmp"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// Health records, for each NodePool, the results of the last registrations of its nodes. The controller nodeclaim.lifecycle
// writes to it. RegistrationHealth sets a condition from it. It is safe for concurrent use.
type Health struct {
	mu    sync.Mutex // guards pools
	pools map[types.UID]*record
}

// remembered is the maximum number of registrations that are stored for a NodePool. If at least unhealthyAt of them failed, the
// NodePool is unhealthy.
const (
	remembered  = 4
	unhealthyAt = remembered / 2
)

// A record has the last registrations of one NodePool.
type record struct {
	// outcomes are the results of the last registrations, oldest first, at most remembered of them. True is a success.
	outcomes []bool
	// reason and message are those of the last failure.
	reason, message string
}

// NewHealth returns an empty Health.
func NewHealth() *Health { return &Health{pools: map[types.UID]*record{}} }

// RecordSuccess records that a node of the NodePool joined the cluster. It must be called before the claim is written, because the
// change of the claim triggers RegistrationHealth.
func (h *Health) RecordSuccess(pool types.UID) { h.add(pool, true, "", "") }

// RecordFailure records that a node of the NodePool did not join the cluster, with the reason, such as the failed launch of its
// claim. It must be called before the claim is deleted.
func (h *Health) RecordFailure(pool types.UID, reason, message string) {
	h.add(pool, false, cmp.Or(reason, apiv1.ReasonRegistrationFailed), message)
}

// add adds a result. The reason and the message are those of a failure.
func (h *Health) add(pool types.UID, ok bool, reason, message string) {
	if pool == "" {
		return // a claim that a user created has no NodePool
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

// A Diagnosis is the health of a NodePool according to its last registrations.
type Diagnosis struct {
	// Known is false if no result is stored, or if all stored results are failures but fewer than unhealthyAt. Then the other
	// fields are empty.
	Known   bool
	Healthy bool
	// Reason and Message are those of the last failure. They are empty if Healthy is true.
	Reason, Message string
}

// Of returns the diagnosis of the NodePool. It is unhealthy if at least unhealthyAt of the stored registrations failed. It is
// healthy if fewer failed and at least one node joined.
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

// forget removes the record of the NodePool.
func (h *Health) forget(pool types.UID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.pools, pool)
}

// retain removes all records except those of the given NodePools, so that records of deleted ones do not accumulate.
func (h *Health) retain(pools map[types.UID]bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for uid := range h.pools {
		if !pools[uid] {
			delete(h.pools, uid)
		}
	}
}
