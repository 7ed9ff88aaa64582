package model

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// A Repair is the reason for which a command repairs a node, and how the node is repaired.
type Repair struct {
	// Condition, Status and Reason are those of the node's condition that the policy matches. ReasonRegex is the expression
	// of the policy, empty if it has none.
	Condition           corev1.NodeConditionType
	Status              corev1.ConditionStatus
	Reason, ReasonRegex string
	// EligibleAt is when the condition had lasted as long as the policy tolerates it.
	EligibleAt time.Time
	// Reboot is true if the node is rebooted and not replaced. Escalated is true if the policy requires a reboot, but
	// the node is replaced because earlier reboots did not help.
	Reboot, Escalated bool
	// DrainBound bounds the drain. nil means no bound. DrainBoundBy is the condition whose policy set it, empty for the
	// terminationGracePeriod of the claim.
	DrainBound   *time.Duration
	DrainBoundBy corev1.NodeConditionType
	// Attempt is the number of replacements in a row that repair has launched for the node, this one included.
	Attempt int
}
