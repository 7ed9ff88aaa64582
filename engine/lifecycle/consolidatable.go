package lifecycle

import (
	"time"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// Consolidatable reports whether the pool's consolidateAfter has passed since the last pod event of the claim's node
// (see LastPodEvent), or since its initialization if there was no such event. wait is the remaining time. It is zero
// if the time has passed, if consolidateAfter is Never, and if the claim is not initialized.
func Consolidatable(claim *apiv1.NodeClaim, pool *apiv1.NodePool, now time.Time) (yes bool, wait time.Duration) {
	after := pool.Spec.Disruption.ConsolidateAfter.Duration
	initialized := condition.Get(claim, apiv1.ConditionTypeInitialized)
	if after == nil || !condition.IsTrue(claim, apiv1.ConditionTypeInitialized) {
		return false, 0
	}
	since := claim.Status.LastPodEventTime.Time
	if since.IsZero() {
		since = initialized.LastTransitionTime.Time
	}
	if left := since.Add(*after).Sub(now); left > 0 {
		return false, left
	}
	return true, 0
}
