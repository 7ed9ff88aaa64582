package telemetry

import apiv1 "github.com/karpenter-go/karpenter/api/v1"

// Values of the label termination_mode.
const (
	TerminationGraceful = "graceful"
	TerminationEventual = "eventual"
	TerminationForceful = "forceful"
)

// TerminationMode returns how a claim with the termination grace period ends. Graceful: grace is nil, and the drain waits for
// every pod, however long that takes. Eventual: the drain ends after the grace period. Forceful: the grace period is zero, so
// there is no drain.
func TerminationMode(grace *apiv1.Duration) string {
	switch {
	case grace == nil:
		return TerminationGraceful
	case grace.Duration > 0:
		return TerminationEventual
	}
	return TerminationForceful
}
