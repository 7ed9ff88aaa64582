package drain

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
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
	_, refused := model.Untolerated(pod.Spec.Tolerations, []corev1.Taint{apiv1.DisruptedNoScheduleTaint()})
	return !refused
}
