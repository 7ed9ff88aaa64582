package telemetry

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Values of the label termination_mode.
const (
	TerminationGraceful = "graceful"
	TerminationEventual = "eventual"
	TerminationForceful = "forceful"
)

// TerminationMode returns how long a NodeClaim with the given terminationGracePeriod waits for its pods on deletion:
// graceful (nil) without a limit, eventual until the end of the period, forceful (0) not at all.
func TerminationMode(grace *metav1.Duration) string {
	switch {
	case grace == nil:
		return TerminationGraceful
	case grace.Duration > 0:
		return TerminationEventual
	}
	return TerminationForceful
}
