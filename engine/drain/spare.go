package drain

import (
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	schedulingcorev1 "k8s.io/component-helpers/scheduling/corev1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// StuckAfter is the time after its deletion timestamp for which a terminating pod delays the drain. If it still exists
// then, its kubelet no longer responds.
const StuckAfter = time.Minute

// A Spare is the reason why a drain leaves a pod on its node. The zero value means that the pod must leave.
type Spare uint8

// The reasons to leave a pod on its node.
const (
	SpareNone      Spare = iota
	SpareTerminal        // it has succeeded or failed
	SpareMirror          // a static pod: only its kubelet can stop it
	SpareTolerates       // it tolerates the disruption taint
	SpareStuck           // it is still terminating StuckAfter its deletion timestamp
)

// String returns the reason in words.
func (s Spare) String() string {
	switch s {
	case SpareNone:
		return "has to leave"
	case SpareTerminal:
		return "has run to its end"
	case SpareMirror:
		return "static pod"
	case SpareTolerates:
		return "tolerates the disrupted taint"
	case SpareStuck:
		return "stuck terminating"
	}
	return "unknown"
}

// SpareOf returns why the drain leaves the pod on its node, or SpareNone.
func SpareOf(pod *corev1.Pod, now time.Time) Spare {
	switch {
	case view(pod).Terminal():
		return SpareTerminal
	case view(pod).Mirror():
		return SpareMirror
	case toleratesDisruption(pod):
		return SpareTolerates
	case pod.DeletionTimestamp != nil && !now.Before(pod.DeletionTimestamp.Add(StuckAfter)):
		return SpareStuck
	}
	return SpareNone
}

func toleratesDisruption(pod *corev1.Pod) bool {
	taint := apiv1.DisruptedNoScheduleTaint()
	return schedulingcorev1.TolerationsTolerateTaint(logr.Discard(), pod.Spec.Tolerations, &taint, true)
}
