package status

import (
	"hash/fnv"
	"time"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// Bounds of the time between the start of a replacement and the expiry of its node.
const (
	// maxLead is the time allowed for initialization of the replacement, or a quarter of expireAfter if that is
	// shorter.
	maxLead = 15 * time.Minute
	// maxJitter bounds how far replacements of equally old nodes are spread: a tenth of expireAfter, at most this.
	maxJitter = 6 * time.Hour
)

// ExpiresAt returns when the claim expires. ok is false if it never does.
func ExpiresAt(claim *apiv1.NodeClaim) (at time.Time, ok bool) {
	if claim == nil || claim.Spec.ExpireAfter.Duration == nil {
		return time.Time{}, false
	}
	return claim.CreationTimestamp.Add(*claim.Spec.ExpireAfter.Duration), true
}

// ReplaceAt returns when the replacement of an expiring claim starts, so that it is initialized in time. ok is false
// if the claim never expires. Claims of equal age start at different times, which depend only on their UIDs.
func ReplaceAt(claim *apiv1.NodeClaim) (at time.Time, ok bool) {
	expiry, ok := ExpiresAt(claim)
	if !ok {
		return time.Time{}, false
	}
	life := *claim.Spec.ExpireAfter.Duration
	h := fnv.New64a()
	_, _ = h.Write([]byte(claim.UID))
	share := float64(h.Sum64()%10_000) / 10_000
	jitter := time.Duration(share * float64(min(life/10, maxJitter)))
	return expiry.Add(-min(life/4, maxLead) - jitter), true
}
