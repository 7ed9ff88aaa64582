package lifecycle

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

const (
	// LaunchTimeout is the age at which a claim without an instance is deleted, unless View.LaunchTimeout is set.
	LaunchTimeout = 5 * time.Minute
	// joinTime is the time after the launch timeout at which a claim without a registered node is deleted.
	joinTime = 10 * time.Minute
	// InitializationTimeout is the time after its registration at which a claim whose node is not initialized is
	// deleted, if the node runs no pods.
	InitializationTimeout = time.Hour
)

// Next returns the next step for the claim.
//
// After the Judgement is executed, another call may immediately return a further step. For example, a node that is ready
// when it joins is registered and initialized in one pass. An empty Judgement means that nothing is to be done until the
// claim or a node changes.
func Next(v View) Judgement {
	switch {
	case !v.Claim.DeletionTimestamp.IsZero():
		return terminate(v)
	case !condition.IsTrue(v.Claim, apiv1.ConditionTypeLaunched):
		return launch(v)
	case !condition.IsTrue(v.Claim, apiv1.ConditionTypeRegistered):
		return register(v)
	case condition.IsTrue(v.Claim, apiv1.ConditionTypeRebooting):
		return Judgement{} // initialized again after the reboot
	case !condition.IsTrue(v.Claim, apiv1.ConditionTypeInitialized):
		return initialize(v)
	}
	return Judgement{}
}

// RegistrationTimeout returns the age at which a claim without a registered node is deleted: ten minutes more than the
// launch timeout.
func RegistrationTimeout(launch time.Duration) time.Duration {
	return cmp.Or(launch, LaunchTimeout) + joinTime
}

// launch requests an instance, unless the condition Launched is False, and deletes the claim after the launch timeout.
// The timeout is checked first, because a later instance would be terminated immediately. It counts from the creation
// of the claim, as RegistrationTimeout does, because transition times of conditions may change repeatedly.
func launch(v View) (j Judgement) {
	deadline := v.Claim.CreationTimestamp.Add(cmp.Or(v.LaunchTimeout, LaunchTimeout))
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

// overdue deletes the claim if RegistrationTimeout has passed. Otherwise it lowers Requeue to the remaining time.
func (j *Judgement) overdue(v View) {
	left := v.Claim.CreationTimestamp.Add(RegistrationTimeout(v.LaunchTimeout)).Sub(v.Now)
	if left <= 0 {
		j.do(Delete{DeleteRegistrationTimeout})
		j.Requeue = 0
		return
	}
	if j.Requeue == 0 || left < j.Requeue {
		j.Requeue = left
	}
}
