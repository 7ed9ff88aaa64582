package lifecycle

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

const (
	// LaunchTimeout is the age at which a claim without an instance is deleted, unless View.LaunchTimeout is set.
	LaunchTimeout = 5 * time.Minute
	// joinTime is the time after the launch timeout at which a claim without a registered node is deleted.
	joinTime = 10 * time.Minute
	// InitializationTimeout is the time after its registration, or after a reboot, at which a claim whose node is not
	// initialized is deleted, if the node runs no pods.
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
	if c := condition.Get(v.Claim, apiv1.ConditionTypeLaunched); c == nil || c.Status == metav1.ConditionUnknown {
		j.do(Launch{Deadline: deadline})
	}
	return j
}

// overdue deletes the claim if RegistrationTimeout has passed. Otherwise it lowers Requeue to the remaining time.
func (j *Judgement) overdue(v View) {
	switch left := v.Claim.CreationTimestamp.Add(RegistrationTimeout(v.LaunchTimeout)).Sub(v.Now); {
	case left <= 0:
		j.do(Delete{DeleteRegistrationTimeout})
		j.Requeue = 0
	case j.Requeue == 0 || left < j.Requeue:
		j.Requeue = left
	}
}

// A View is the input of Next. Next does not change it.
type View struct {
	Now time.Time
	// Claim is the claim as last read, including the changes of this pass.
	Claim *apiv1.NodeClaim
	// LaunchTimeout is how long a launch of the claim may take. 0 means the constant LaunchTimeout.
	LaunchTimeout time.Duration
	// Nodes are the nodes with the claim's provider ID, none if the claim has no provider ID.
	Nodes []*corev1.Node
	// Hook is the provider's registration hook. The zero Hook allows the registration.
	Hook Hook
	// InstanceGone is true if EndInstance in this pass found no instance of the claim: it was terminated or never launched.
	InstanceGone bool
	// Pods are the pods of the claim's node. They are needed only after InitializationTimeoutAt.
	Pods []*corev1.Pod
	// DRA is true if DRA drivers must publish their devices before the node is initialized. Slices are the
	// ResourceSlices of the claim's node, in any order.
	DRA    bool
	Slices []*resourcev1.ResourceSlice
}

// A Hook is the result of the provider's registration hook, which decides whether a node may be registered.
type Hook struct {
	// Wait is the time until the hook is called again. If it is longer than zero, the registration is delayed.
	Wait time.Duration
	// Labels are added to the claim and the node, even while the registration is delayed.
	Labels map[string]string
	// Err is the error message of the provider, empty if there is none. An error delays the registration.
	Err string
}

// pending reports whether the hook delays the registration.
func (h Hook) pending() bool { return h.Wait > 0 || h.Err != "" }

// Reasons of the conditions that Next sets while they are not True. All except the last are those of upstream
// Karpenter.
const (
	ReasonNodeNotFound               = "NodeNotFound"
	ReasonMultipleNodesFound         = "MultipleNodesFound"
	ReasonRegistrationHookPending    = "RegistrationHookPending"
	ReasonNodeNotReady               = "NodeNotReady"
	ReasonStartupTaintsExist         = "StartupTaintsExist"
	ReasonKnownEphemeralTaintsExist  = "KnownEphemeralTaintsExist"
	ReasonResourceNotRegistered      = "ResourceNotRegistered"
	ReasonDRADriverPoolsNotPublished = "DRADriverPoolsNotPublished"
	ReasonNominationsPending         = "NominationsPending"
)

// A Judgement is the result of Next.
type Judgement struct {
	// Actions are the actions to execute, in this order.
	Actions []Action
	// Conditions are set on the claim after the Actions. Only type, status, reason and message are set.
	Conditions []metav1.Condition
	// NodeName is set in the claim's status after the Actions. If it is empty, the status keeps its value.
	NodeName string
	// Requeue is the time after which Next must be called again without an event; zero means never.
	Requeue time.Duration
}

func (j *Judgement) set(t string, status metav1.ConditionStatus, reason, message string) {
	j.Conditions = append(j.Conditions, metav1.Condition{Type: t, Status: status, Reason: reason, Message: message})
}

func (j *Judgement) holds(t string) { j.set(t, metav1.ConditionTrue, t, "") }

func (j *Judgement) waits(t, reason, message string) {
	j.set(t, metav1.ConditionUnknown, reason, message)
}

func (j *Judgement) do(a Action) { j.Actions = append(j.Actions, a) }
