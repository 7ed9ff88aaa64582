package repair

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Times of a reboot.
const (
	// settle is how long the drain lasts at least, so that pods bound just before the taint are seen.
	settle = 5 * time.Second
	// rebootPoll is the interval between checks without an event.
	rebootPoll = 15 * time.Second
	// callTimeout is how long the cloud may refuse to reboot the instance, from the first call.
	callTimeout = 5 * time.Minute
	// recoveryTimeout is how long the node may take to become ready again.
	recoveryTimeout = 20 * time.Minute
)

// A View is the input of Next: the claim, its node (nil if it is missing), and how many pods the drain still has to evict.
type View struct {
	Now     time.Time
	Claim   *apiv1.NodeClaim
	Node    *corev1.Node
	Waiting int
}

// A Result is how a reboot ended. It is a label value in metrics.
type Result string

// The results of a reboot.
const (
	RebootRunning         Result = ""
	RebootSucceeded       Result = "succeeded"
	RebootProviderError   Result = "provider_error"
	RebootRecoveryTimeout Result = "recovery_timeout"
	RebootInvalidRequest  Result = "invalid_request"
)

// A Step is the next step of a reboot.
type Step struct {
	// Result is how the reboot ended. It is RebootRunning if the reboot has not ended. Cause is the reason of a
	// failure.
	Result Result
	Cause  string
	// Fenced is true if the node must have the taint that excludes pods. Booted is true if the node has booted again.
	Fenced, Booted bool
	// Drain is true if the pods of the node must be evicted now. Call is true if the cloud must be requested to reboot the
	// instance now.
	Drain, Call bool
	// Issued is true if the node has another boot ID although no accepted request is recorded. It was rebooted by a
	// request whose response was lost, or by someone else. The caller records the reboot as requested.
	Issued bool
	// Requeue is the time after which Next must be called again without an event; zero means never.
	Requeue time.Duration
}

// Next returns the next step of the reboot of the claim's node. First the node is drained, for at least settle and at most
// the bound of the drain. Then the cloud is requested to reboot the instance. Finally the node must boot and become ready
// within recoveryTimeout. The claim must have the condition Rebooting.
func Next(v View) Step {
	c := condition.Get(v.Claim, apiv1.ConditionTypeRebooting)
	if c.Reason == apiv1.ReasonRebootIssued {
		return recovering(v)
	}
	bound, bounded, err := RebootBound(v.Claim)
	requested := c.LastTransitionTime.Time
	switch {
	case err != nil:
		return Step{Result: RebootInvalidRequest, Cause: err.Error()}
	case v.Node == nil:
		return missing(v, model.Later(requested, calledAt(v.Claim)), callTimeout, RebootProviderError)
	case booted(v) && v.Claim.Annotations[apiv1.RebootPreBootIDAnnotationKey] != "":
		return Step{Fenced: true, Issued: true, Requeue: time.Millisecond}
	}
	until := requested.Add(settle)
	if deadline := requested.Add(max(bound, settle)); v.Waiting > 0 && (!bounded || bound > 0) {
		if until = deadline; !bounded {
			until = v.Now.Add(rebootPoll)
		}
	}
	if left := until.Sub(v.Now); left > 0 {
		return Step{Fenced: true, Drain: !bounded || bound > 0, Requeue: min(left, rebootPoll)}
	}
	if called := calledAt(v.Claim); !called.IsZero() && v.Now.Sub(called) >= callTimeout {
		return Step{Result: RebootProviderError, Cause: "the cloud did not accept the reboot within " + callTimeout.String()}
	}
	return Step{Fenced: true, Call: true}
}

// recovering returns the next step after the cloud has accepted the reboot.
func recovering(v View) Step {
	issued := IssuedAt(v.Claim)
	if v.Node == nil {
		return missing(v, issued, recoveryTimeout, RebootRecoveryTimeout)
	}
	switch {
	case booted(v) && model.Readiness(v.Node) == corev1.ConditionTrue:
		return Step{Result: RebootSucceeded, Booted: true}
	case v.Now.Sub(issued) >= recoveryTimeout:
		return Step{Result: RebootRecoveryTimeout, Cause: "the node was not ready within " + recoveryTimeout.String() + " of the reboot"}
	}
	return Step{Fenced: !booted(v), Booted: booted(v), Requeue: rebootPoll}
}

// IssuedAt returns when the cloud accepted the reboot: the last transition of Initialized, which is Unknown from then on.
// Initialized may have been Unknown before, because the node was never initialized. Then it is when the cloud was first called.
func IssuedAt(claim *apiv1.NodeClaim) time.Time {
	at := calledAt(claim)
	if c := condition.Get(claim, apiv1.ConditionTypeInitialized); c != nil {
		at = model.Later(at, c.LastTransitionTime.Time)
	}
	return at
}

// missing returns the step of a reboot whose node does not exist. If timeout has passed after the time in parameter since,
// the reboot ends with the result.
func missing(v View, since time.Time, timeout time.Duration, result Result) Step {
	left := since.Add(timeout).Sub(v.Now)
	if left <= 0 {
		return Step{Result: result, Cause: "the node does not exist"}
	}
	return Step{Requeue: min(left, rebootPoll)}
}

// RebootBound returns the bound of the drain before a reboot. bounded is false if there is none. The error says that the
// annotation of the claim is not a duration of 0s or more.
func RebootBound(claim *apiv1.NodeClaim) (bound time.Duration, bounded bool, err error) {
	text, bounded := claim.Annotations[apiv1.RebootTerminationGracePeriodAnnotationKey]
	if !bounded {
		return 0, false, nil
	}
	bound, err = time.ParseDuration(text)
	if err != nil || bound < 0 {
		return 0, true, fmt.Errorf("annotation %s is %q, not a duration of 0s or more",
			apiv1.RebootTerminationGracePeriodAnnotationKey, text)
	}
	return bound, true, nil
}

// booted reports whether the node has another boot ID than before the reboot.
func booted(v View) bool {
	return v.Node.Status.NodeInfo.BootID != v.Claim.Annotations[apiv1.RebootPreBootIDAnnotationKey]
}

// calledAt returns when the cloud was first called for the reboot, zero if it was not.
func calledAt(claim *apiv1.NodeClaim) time.Time {
	at, _ := time.Parse(time.RFC3339, claim.Annotations[apiv1.RebootCalledAnnotationKey])
	return at
}
