package lifecycle

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// WarnTerminationGracePeriodExpiring is the reason of the event that tells when a claim will be ended by force.
const WarnTerminationGracePeriodExpiring = "TerminationGracePeriodExpiring"

// The provider is asked again whether an instance is gone after as long as it has been ending already, within these
// bounds.
const (
	minInstancePoll = time.Second
	maxInstancePoll = 5 * time.Second
)

// terminate ends a claim: the nodes first, which drain by themselves, then the instance, then the claim.
//
// The provider is asked to end the instance also when the claim has no provider ID: a launch may have happened whose
// answer was lost, and only the provider can tell.
func terminate(v View) (j Judgement) {
	if !slices.Contains(v.Claim.Finalizers, apiv1.TerminationFinalizer) {
		return j
	}
	j.deadline(v)
	if waiting := drained(v); len(waiting) > 0 {
		j.deleteNodes(waiting)
		return j
	}
	if v.Instance == InstanceGone {
		// What is left are nodes that never were ours; nobody else may be there to clear them away.
		j.deleteNodes(v.Nodes)
		j.do(Release{})
		return j
	}
	j.do(EndInstance{})
	j.holds(apiv1.ConditionTypeInstanceTerminating)
	j.Requeue = instancePoll(v)
	return j
}

// deadline adds the moment of the forced end, if there is to be one and it is not written down.
func (j *Judgement) deadline(v View) {
	grace := v.Claim.Spec.TerminationGracePeriod
	if _, known := v.Claim.Annotations[apiv1.NodeClaimTerminationTimestampAnnotationKey]; known || grace == nil {
		return
	}
	at := v.Claim.DeletionTimestamp.Add(grace.Duration)
	j.do(SetDeadline{At: at})
	j.do(Warn{WarnTerminationGracePeriodExpiring,
		fmt.Sprintf("all pods will be deleted by force by %s", at.UTC().Format(time.RFC3339))})
}

// deleteNodes adds the deletion of those nodes that nobody has deleted yet.
func (j *Judgement) deleteNodes(nodes []*corev1.Node) {
	alive := slices.DeleteFunc(slices.Clone(nodes), func(n *corev1.Node) bool {
		return !n.DeletionTimestamp.IsZero()
	})
	if len(alive) > 0 {
		j.do(DeleteNodes{Names: names(alive)})
	}
}

// drained returns the nodes that must be gone before the instance may end: all of a registered claim, otherwise those
// that carry our finalizer. A node that we never touched would be made again by its kubelet as long as the instance
// runs.
func drained(v View) []*corev1.Node {
	if condition.IsTrue(v.Claim, apiv1.ConditionTypeRegistered) {
		return v.Nodes
	}
	return slices.DeleteFunc(slices.Clone(v.Nodes), func(n *corev1.Node) bool {
		return !slices.Contains(n.Finalizers, apiv1.TerminationFinalizer)
	})
}

// instancePoll is when to ask again whether the instance is gone.
func instancePoll(v View) time.Duration {
	c := condition.Get(v.Claim, apiv1.ConditionTypeInstanceTerminating)
	if c == nil {
		return minInstancePoll
	}
	return min(max(v.Now.Sub(c.LastTransitionTime.Time), minInstancePoll), maxInstancePoll)
}
