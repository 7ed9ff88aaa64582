package status

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/lifecycle"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Consolidatable reports whether the NodePool's consolidateAfter has passed since the last pod event of the node. The claim's condition
// says so, but it is older than the snapshot. So it does not count while the pods of the snapshot show an event that the claim does
// not have yet, and consolidateAfter has not passed since that event.
func Consolidatable(s *model.Snapshot, n *model.Node) bool {
	if n.Claim == nil || !condition.IsTrue(n.Claim, apiv1.ConditionTypeConsolidatable) {
		return false
	}
	pool, ok := s.Pool(n.Pool)
	if !ok || pool.Object.Spec.Disruption.ConsolidateAfter.Duration == nil {
		return true
	}
	after := *pool.Object.Spec.Disruption.ConsolidateAfter.Duration
	if after == 0 {
		return true
	}
	var pods []*corev1.Pod
	for _, p := range s.BoundTo(n) {
		pods = append(pods, p.Object)
	}
	last := lifecycle.LastPodEvent(pods, s.Now)
	known := !last.Truncate(time.Second).After(n.Claim.Status.LastPodEventTime.Time) // the API stores whole seconds
	return known || !s.Now.Before(last.Add(after))
}
