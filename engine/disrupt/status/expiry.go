package status

import (
	"hash/fnv"
	"time"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Bounds of how long before its expiry a node is replaced.
const (
	// The time allowed for the initialization of the replacement is a quarter of expireAfter, at most maxLead.
	maxLead = 15 * time.Minute
	// The replacements of equally old nodes are spread over a tenth of expireAfter, at most maxJitter.
	maxJitter = 6 * time.Hour
)

// ReplaceAt returns when the replacement of an expiring claim starts, so that it is initialized in time. ok is false if
// the claim never expires. For claims of equal age the times differ, depending only on their UIDs.
func ReplaceAt(claim *apiv1.NodeClaim) (at time.Time, ok bool) {
	expiry, ok := model.ExpiresAt(claim)
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

// MostExpiring returns the limit on expiry for a cluster with a number of nodes: a fifth of them, but at least 10. At most
// this many nodes may be replaced at the same time because of expiry, and at most this many claims may be deleted for that
// reason within ten minutes. So a wrong clock or setting does not remove all nodes at once.
func MostExpiring(all int) int { return max(10, all/5) }
