package lifecycle

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// WarnTerminationGracePeriodExpiring is the reason of the event that announces the termination deadline of a claim.
const WarnTerminationGracePeriodExpiring = "TerminationGracePeriodExpiring"

// minInstancePoll and maxInstancePoll bound the interval between checks whether the instance is gone. The interval is
// the time for which the instance has been terminating already.
const (
	minInstancePoll = time.Second
	maxInstancePoll = 5 * time.Second
)

// terminate ends a claim: first its nodes, each with a drain, then the instance, then the claim.
//
// A claim without a provider ID may still have an instance, if the response to its launch was lost. So EndInstance is
// returned for such a claim, too.
func terminate(v View) (j Judgement) {
	if !slices.Contains(v.Claim.Finalizers, apiv1.TerminationFinalizer) {
		return j
	}
	j.deadline(v)
	if waiting := drained(v); len(waiting) > 0 {
		j.deleteNodes(waiting)
		return j
	}
	if v.InstanceGone {
		// Only nodes of a claim that never registered, without Karpenter's finalizer, are left here. Possibly no other
		// controller deletes them.
		j.deleteNodes(v.Nodes)
		j.do(Release{})
		return j
	}
	j.do(EndInstance{})
	j.holds(apiv1.ConditionTypeInstanceTerminating)
	j.Requeue = instancePoll(v)
	return j
}

// deadline adds the termination deadline, if the claim has a terminationGracePeriod and no deadline yet.
func (j *Judgement) deadline(v View) {
	grace := v.Claim.Spec.TerminationGracePeriod
	if _, known := v.Claim.Annotations[apiv1.NodeClaimTerminationTimestampAnnotationKey]; known || grace == nil {
		return
	}
	at := v.Claim.DeletionTimestamp.Add(grace.Duration)
	j.do(SetDeadline{At: at})
	j.do(Warn{WarnTerminationGracePeriodExpiring,
		fmt.Sprintf("All pods will be deleted by %s (termination deadline of the NodeClaim): PodDisruptionBudgets and do-not-disrupt do not delay it", at.UTC().Format(time.RFC3339))})
}

// deleteNodes adds the deletion of the nodes that are not being deleted yet.
func (j *Judgement) deleteNodes(nodes []*corev1.Node) {
	alive := slices.DeleteFunc(slices.Clone(nodes), func(n *corev1.Node) bool {
		return !n.DeletionTimestamp.IsZero()
	})
	if len(alive) > 0 {
		j.do(DeleteNodes{Names: names(alive)})
	}
}

// drained returns the nodes that must be gone before the instance is terminated: all nodes of a registered claim,
// otherwise only those with Karpenter's finalizer. As long as the instance runs, kubelet would create a node without
// the finalizer again.
func drained(v View) []*corev1.Node {
	if condition.IsTrue(v.Claim, apiv1.ConditionTypeRegistered) {
		return v.Nodes
	}
	return slices.DeleteFunc(slices.Clone(v.Nodes), func(n *corev1.Node) bool {
		return !slices.Contains(n.Finalizers, apiv1.TerminationFinalizer)
	})
}

// instancePoll returns the time until the next check whether the instance is gone.
func instancePoll(v View) time.Duration {
	c := condition.Get(v.Claim, apiv1.ConditionTypeInstanceTerminating)
	if c == nil {
		return minInstancePoll
	}
	return min(max(v.Now.Sub(c.LastTransitionTime.Time), minInstancePoll), maxInstancePoll)
}
