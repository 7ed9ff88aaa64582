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
	// DrainBound bounds the drain. nil means that no policy sets a bound, so only the claim's terminationGracePeriod
	// applies. DrainBoundBy is the condition whose policy set it, empty if the bound is the terminationGracePeriod.
	DrainBound   *time.Duration
	DrainBoundBy corev1.NodeConditionType
	// Attempt is how many times in a row repair has replaced the node, this time included: repair.Attempt of its claim plus 1.
	Attempt int
}
