package lifecycle

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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

// set adds a condition.
func (j *Judgement) set(t string, status metav1.ConditionStatus, reason, message string) {
	j.Conditions = append(j.Conditions, metav1.Condition{
		Type: t, Status: status, Reason: reason, Message: message,
	})
}

// holds adds a condition that is True. Its reason is its type, and it has no message.
func (j *Judgement) holds(t string) { j.set(t, metav1.ConditionTrue, t, "") }

// waits adds a condition that is Unknown.
func (j *Judgement) waits(t, reason, message string) {
	j.set(t, metav1.ConditionUnknown, reason, message)
}

// do adds an action.
func (j *Judgement) do(a Action) { j.Actions = append(j.Actions, a) }
