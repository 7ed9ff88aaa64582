package lifecycle

import (
	"time"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// Expiry returns when the claim expires. ok is false if it never does.
func Expiry(claim *apiv1.NodeClaim) (at time.Time, ok bool) {
	if claim.Spec.ExpireAfter.Duration == nil {
		return time.Time{}, false
	}
	return claim.CreationTimestamp.Add(*claim.Spec.ExpireAfter.Duration), true
}
