package model

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// A Repair says why a command repairs a node, and how.
type Repair struct {
	// Condition, Status and Reason are the condition of the node. ReasonRegex is the expression of the policy that
	// matches, empty for a fallback.
	Condition           corev1.NodeConditionType
	Status              corev1.ConditionStatus
	Reason, ReasonRegex string
	// EligibleAt is when the toleration of the policy had passed.
	EligibleAt time.Time
	// Reboot says that the node is rebooted and not replaced. Escalated says that the policy says reboot, and that the
	// node is replaced because reboots did not help.
	Reboot, Escalated bool
	// DrainBound bounds the drain. nil means no bound. DrainBoundBy is the condition whose policy set it, empty for the
	// terminationGracePeriod of the claim.
	DrainBound   *time.Duration
	DrainBoundBy corev1.NodeConditionType
	// Attempt is the number of replacements in a row that repair has launched for the node, this one included.
	Attempt int
}
