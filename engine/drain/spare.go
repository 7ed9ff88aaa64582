package drain

import (
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	schedulingcorev1 "k8s.io/component-helpers/scheduling/corev1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// StuckAfter is how long after its deletion timestamp a terminating pod still counts. By then its kubelet should have
// killed it; one that is still listed belongs to a node that does not answer, and waiting for it would wait for ever.
const StuckAfter = time.Minute

// A Spare says why a pod is left where it is. The zero value is none: the pod has to leave.
type Spare uint8

// Reasons to leave a pod alone.
const (
	SpareNone      Spare = iota
	SpareTerminal        // it has run to its end
	SpareMirror          // a static pod: only its kubelet can stop it
	SpareTolerates       // it tolerates the disrupted taint and so asks to stay to the end
	SpareStuck           // it should have been gone for StuckAfter
)

// String says the reason in words.
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

// SpareOf returns why the pod is left alone at the time now, or SpareNone.
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
	return schedulingcorev1.TolerationsTolerateTaint(logr.Discard(), pod.Spec.Tolerations, &taint, false)
}
