package deletioncost

import (
	"hash/fnv"
	"math"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/status"
	"github.com/karpenter-go/karpenter/engine/model"
)

const (
	// leaving is the rank of nodes that are being removed: the lowest deletion cost.
	leaving = math.MinInt32
	// steps is the number of steps into which the free share of nodes is divided.
	steps = 10
	// width is the number of ranks in a step.
	width = 10_000
	// margin is how far the free share of a node may be outside the bounds of its step before the step changes.
	margin = 0.05
)

// rankOf returns the rank of the node, lower for nodes that are to be emptied first. It returns false if pods of the node
// are to get no cost. A node without a claim and a claim whose node has not joined have no rank. Each other node that is
// being removed has one. All others have none in these cases:
//
//   - The node is not initialized.
//   - The node or one of its pods has an active do-not-disrupt.
//   - The NodePool of the node is static or does not exist.
//   - The node has not drifted, and consolidateAfter is Never.
func rankOf(s *model.Snapshot, n *model.Node) (rank int64, ok bool) {
	if !n.Managed() || n.Object == nil {
		return 0, false
	}
	if n.Deleting || status.Disrupting(n) {
		return leaving, true
	}
	pool, exists := s.Pool(n.Pool)
	if !exists || pool.Static() || !n.Initialized || !status.Unprotected(n, s.Now).OK() {
		return 0, false
	}
	group := 0
	switch {
	case condition.IsTrue(n.Claim, apiv1.ConditionTypeDrifted):
		group = steps
	case pool.Object.Spec.Disruption.ConsolidateAfter.Duration == nil:
		return 0, false
	}
	return -int64(group+stepOf(n)+1)*width + placeOf(n), true
}

// stepOf returns the step of the node, from 0 (the least free share) to steps-1 (the most). The node keeps its earlier step (see
// stepBefore) while its free share is at most margin outside the bounds of that step. So small changes cause no writes.
func stepOf(n *model.Node) int {
	free := freeShare(n)
	if before, ok := stepBefore(n); ok &&
		free >= float64(before)/steps-margin && free <= float64(before+1)/steps+margin {
		return before
	}
	return min(int(free*steps), steps-1)
}

// freeShare returns the share of the node's CPU or memory that pods do not use, whichever is less, between 0 and 1. The
// requests of DaemonSet pods are subtracted from both the used and the allocatable amount.
func freeShare(n *model.Node) float64 {
	free := 1.0
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		room := n.Allocatable[name] - n.DaemonUsed[name]
		if room <= 0 {
			return 0
		}
		free = min(free, 1-float64(n.Used[name]-n.DaemonUsed[name])/float64(room))
	}
	return max(0, free)
}

// stepBefore returns the step in which the node was when the deletion costs of its pods were written, and false if they
// have none.
func stepBefore(n *model.Node) (step int, ok bool) {
	for _, p := range n.Pods {
		if !Written(p) {
			continue
		}
		v, err := strconv.ParseInt(Value(p), 10, 32)
		if err != nil || v == leaving || v >= 0 {
			continue
		}
		return int((-v+width-1)/width-1) % steps, true
	}
	return 0, false
}

// placeOf returns the place of the node among the ranks of its step. It depends only on the name of the node.
func placeOf(n *model.Node) int64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(n.Name)) // never fails
	return int64(h.Sum32() % width)
}
