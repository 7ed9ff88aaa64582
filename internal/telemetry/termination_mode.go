package telemetry

import apiv1 "github.com/karpenter-go/karpenter/api/v1"

// Values of the label termination_mode.
const (
	TerminationGraceful = "graceful"
	TerminationEventual = "eventual"
	TerminationForceful = "forceful"
)

// TerminationMode says how a claim with the termination grace period ends: graceful waits for every pod for ever, eventual
// only so long, forceful not at all.
func TerminationMode(grace *apiv1.Duration) string {
	switch {
	case grace == nil:
		return TerminationGraceful
	case grace.Duration > 0:
		return TerminationEventual
	}
	return TerminationForceful
}
