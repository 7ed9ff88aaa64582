package disrupt

import (
	"hash/fnv"
	"time"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Reasons that are no choice: no budget may name them.
const (
	ReasonExpired   apiv1.DisruptionReason = "Expired"
	ReasonUnhealthy apiv1.DisruptionReason = "Unhealthy"
)

// Bounds of how long before its expiry a node is replaced.
const (
	// mostLead is how long a replacement may take to come up at most; a quarter of the life of a node if that is shorter.
	mostLead = 15 * time.Minute
	// mostJitter spreads nodes of one age: a tenth of their life, this long at most.
	mostJitter = 6 * time.Hour
)

// expiresAt returns when the claim has lived its time, and ok=false if it may live for ever.
func expiresAt(claim *apiv1.NodeClaim) (at time.Time, ok bool) {
	if claim == nil || claim.Spec.ExpireAfter.Duration == nil {
		return time.Time{}, false
	}
	return claim.CreationTimestamp.Add(*claim.Spec.ExpireAfter.Duration), true
}

// ReplaceAt returns when to begin to replace a claim that expires, so that its successor is up before it has to go; ok is
// false if it lives for ever. Nodes of one age begin at different times, which depend on their UIDs alone, and never later
// than their lead asks for.
func ReplaceAt(claim *apiv1.NodeClaim) (at time.Time, ok bool) {
	expiry, ok := expiresAt(claim)
	if !ok {
		return time.Time{}, false
	}
	life := *claim.Spec.ExpireAfter.Duration
	h := fnv.New64a()
	_, _ = h.Write([]byte(claim.UID))
	share := float64(h.Sum64()%10_000) / 10_000
	jitter := time.Duration(share * float64(min(life/10, mostJitter)))
	return expiry.Add(-min(life/4, mostLead) - jitter), true
}

// expire replaces the nodes whose time is near. It is no choice: budgets, do-not-disrupt and
// disruption budgets of pods are not asked. What is still there when its time has come is deleted elsewhere.
func (d *decider) expire() {
	for _, c := range d.open(ReasonExpired) {
		if !d.present(c) || c.node.Claim == nil {
			continue
		}
		at, ok := ReplaceAt(c.node.Claim)
		if !ok || d.now.Before(at) {
			continue
		}
		if d.o.Static && c.pool != nil && c.pool.Static() {
			d.expireStatic(c)
			continue
		}
		p := d.whatIf(d.base, []*candidate{c})
		if v := p.placed(); !v.OK() {
			// What has no other place has none afterwards either; all the rest gets its replacement first.
			d.insist(c, v)
		}
		d.commit(p.command(ReasonExpired, "expiry"), []*candidate{c})
	}
}

// expireStatic replaces a node of a static pool by one more of the same template. Where the pool's limit leaves no room for
// both, the node goes when its time has come, and the pool is filled up afterwards.
func (d *decider) expireStatic(c *candidate) {
	n, v := d.anotherFromTemplate(c.pool)
	if !v.OK() {
		d.insist(c, v)
		return
	}
	d.commit(model.Command{
		Reason: ReasonExpired, Method: "static", Replacements: []model.PlannedNode{n}, Saves: c.price - n.Price(),
	}, []*candidate{c})
}

// present reports whether the node is up and nobody has begun to end it.
func (d *decider) present(c *candidate) bool {
	return !c.node.Deleting && !underWay(c.node) && d.initialized(c.node)
}
