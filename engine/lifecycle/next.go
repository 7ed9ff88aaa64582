package lifecycle

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

const (
	// LaunchTimeout is how long after its creation a claim may be without an instance.
	LaunchTimeout = 5 * time.Minute
	// RegistrationTimeout is how long after its creation a claim may be without a registered node.
	RegistrationTimeout = 15 * time.Minute
)

// Next says what is to happen to the claim now.
//
// After the Actions are done and the Conditions are set, asking again may bring the next step at once: a node that
// joins ready is registered and initialized in one pass. An empty Judgement means that only a change from outside, to
// claim or node, will bring something new.
func Next(v View) Judgement {
	switch {
	case !v.Claim.DeletionTimestamp.IsZero():
		return terminate(v)
	case !condition.IsTrue(v.Claim, apiv1.ConditionTypeLaunched):
		return launch(v)
	case !condition.IsTrue(v.Claim, apiv1.ConditionTypeRegistered):
		return register(v)
	case !condition.IsTrue(v.Claim, apiv1.ConditionTypeInitialized):
		return initialize(v)
	}
	return Judgement{}
}

// launch asks for an instance until the claim is too old. An instance that came later than that would only be ended
// again, so the timeout is looked at first. Both timeouts count from the creation of the claim and not from a
// condition's transition, which moves when a condition goes back and forth.
func launch(v View) (j Judgement) {
	deadline := v.Claim.CreationTimestamp.Add(LaunchTimeout)
	if !v.Now.Before(deadline) {
		j.do(Delete{DeleteLaunchTimeout})
		return j
	}
	j.Requeue = deadline.Sub(v.Now)
	c := condition.Get(v.Claim, apiv1.ConditionTypeLaunched)
	if c == nil || c.Status == metav1.ConditionUnknown {
		j.do(Launch{Deadline: deadline})
	}
	return j
}

// overdue adds the end of a claim whose node does not come, or when to look for it.
func (j *Judgement) overdue(v View) {
	left := v.Claim.CreationTimestamp.Add(RegistrationTimeout).Sub(v.Now)
	if left <= 0 {
		j.do(Delete{DeleteRegistrationTimeout})
		j.Requeue = 0
		return
	}
	if j.Requeue == 0 || left < j.Requeue {
		j.Requeue = left
	}
}
