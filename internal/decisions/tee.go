package decisions

import (
	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// A Tee is a recorder of events that also adds those events to the log that are effects of decisions. The message of the effect
// is that of the event.
type Tee struct {
	Next telemetry.Recorder
	Log  *Log
}

var _ telemetry.Recorder = Tee{}

// Publish publishes the events, and adds effects to the open episodes of their objects.
func (t Tee) Publish(events ...telemetry.Event) {
	t.Next.Publish(events...)
	for _, e := range events {
		switch o := e.Object.(type) {
		case *corev1.Pod:
			if e.Reason == telemetry.EventEvicted || e.Reason == telemetry.EventDisrupted {
				t.Log.NoteNode(o.Spec.NodeName, EffectEvicted, "pod "+o.Namespace+"/"+o.Name, e.Message)
			}
		case *apiv1.NodeClaim:
			if kind, ok := effectOf(e.Reason); ok {
				t.Log.Note(o.Name, kind, ClaimObject(o.Name), e.Message)
			}
		case *corev1.Node:
			// Events with these reasons are published on nodes only.
			if e.Reason == telemetry.EventFailedDraining || e.Reason == telemetry.EventAwaitingVolumeDetachment {
				t.Log.NoteNode(o.Name, EffectNote, "node "+o.Name, e.Message)
			}
		}
	}
}

// effectOf returns the kind of effect of an event on a NodeClaim, and false if the event is no effect.
func effectOf(reason string) (EffectKind, bool) {
	switch reason {
	case telemetry.EventInsufficientCapacityError:
		return EffectFailed, true
	case telemetry.EventDisruptionCancelled:
		return EffectCancelled, true
	case telemetry.EventNodeJoinDelayed, telemetry.EventNodeClassNotReady, telemetry.EventFailedConsistencyCheck,
		telemetry.EventTerminationGracePeriodExpiring, telemetry.EventFailedTermination, telemetry.EventRebootObserved,
		telemetry.EventRebootFailed:
		return EffectNote, true
	}
	return "", false
}
