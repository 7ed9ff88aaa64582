package drain

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ClaimsOf returns the names of the PersistentVolumeClaims of the pod, including those of ephemeral volumes, in volume
// order.
func ClaimsOf(pod *corev1.Pod) []types.NamespacedName {
	var claims []types.NamespacedName
	for _, v := range pod.Spec.Volumes {
		name := types.NamespacedName{Namespace: pod.Namespace}
		switch {
		case v.PersistentVolumeClaim != nil:
			name.Name = v.PersistentVolumeClaim.ClaimName
		case v.Ephemeral != nil:
			name.Name = pod.Name + "-" + v.Name // the name that Kubernetes gives it
		default:
			continue
		}
		claims = append(claims, name)
	}
	return claims
}

// PinsVolumes reports whether the drain leaves the pod on the node and its volumes stay attached. The drain does not wait
// for these volumes. A finished pod does not count, because its volumes are detached.
func PinsVolumes(pod *corev1.Pod, now time.Time) bool {
	reason := SpareOf(pod, now)
	return reason != SpareNone && reason != SpareTerminal
}

// addVolumes sets Detaching or, once the deadline has passed, Abandoned. Both are the attached PersistentVolumes that no pod
// with PinsVolumes uses. Attachments without a PersistentVolume (inline CSI volumes) are ignored, because they are removed
// with their pod.
func (d *Decision) addVolumes(s State, pods []*corev1.Pod) {
	pinned := map[string]bool{}
	for _, p := range pods {
		if PinsVolumes(p, s.Now) {
			for _, claim := range ClaimsOf(p) {
				pinned[s.Volumes[claim]] = true
			}
		}
	}
	var waiting []string
	for _, a := range s.Attachments {
		if name := a.Spec.Source.PersistentVolumeName; name != nil && *name != "" && !pinned[*name] {
			waiting = append(waiting, *name)
		}
	}
	slices.Sort(waiting)
	waiting = slices.Compact(waiting)
	if !s.Deadline.IsZero() && !s.Now.Before(s.Deadline) {
		d.Abandoned = waiting
		return
	}
	d.Detaching = waiting
	if len(waiting) > 0 {
		d.lookAgain(s.Now, s.Deadline)
	}
}
