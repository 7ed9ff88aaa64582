package lifecycle

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Reasons of the conditions that Next sets while they are not True. They are upstream's, to the letter, but for the last.
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

// A Judgement is what Next has to say.
type Judgement struct {
	// Actions are to be done in this order.
	Actions []Action
	// Conditions are to be set on the claim once the Actions are done. Only type, status, reason and message count.
	Conditions []metav1.Condition
	// NodeName is to be set in the claim's status once the Actions are done; empty leaves it as it is.
	NodeName string
	// Requeue is when time alone will change the answer; zero means that it will not.
	Requeue time.Duration
}

// String renders the judgement a line an item, for tests and logs.
func (j Judgement) String() string {
	var b strings.Builder
	for _, a := range j.Actions {
		fmt.Fprintln(&b, a)
	}
	for _, c := range j.Conditions {
		fmt.Fprintf(&b, "condition %s=%s %s", c.Type, c.Status, c.Reason)
		if c.Message != "" {
			fmt.Fprintf(&b, ": %s", c.Message)
		}
		b.WriteByte('\n')
	}
	if j.NodeName != "" {
		fmt.Fprintf(&b, "node name %s\n", j.NodeName)
	}
	if j.Requeue > 0 {
		fmt.Fprintf(&b, "requeue after %s\n", j.Requeue)
	}
	if b.Len() == 0 {
		return "nothing\n"
	}
	return b.String()
}

// set adds a condition. A condition that is True has its own type for a reason and needs no message.
func (j *Judgement) set(t string, status metav1.ConditionStatus, reason, message string) {
	j.Conditions = append(j.Conditions, metav1.Condition{
		Type: t, Status: status, Reason: reason, Message: message,
	})
}

// holds adds a condition that is True.
func (j *Judgement) holds(t string) { j.set(t, metav1.ConditionTrue, t, "") }

// waits adds a condition that is Unknown.
func (j *Judgement) waits(t, reason, message string) {
	j.set(t, metav1.ConditionUnknown, reason, message)
}

// do adds an action.
func (j *Judgement) do(a Action) { j.Actions = append(j.Actions, a) }
