package drain

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ClaimsOf returns the names of the PersistentVolumeClaims that the pod mounts, those of its ephemeral volumes included, in
// the order of its volumes.
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

// PinsVolumes reports whether the volumes of the pod stay attached as long as the node is there, because the pod itself
// does. They are not waited for.
func PinsVolumes(pod *corev1.Pod, now time.Time) bool {
	reason := SpareOf(pod, now)
	return reason != SpareNone && reason != SpareTerminal
}

// placeVolumes says which attached volumes must be waited for. Attachments without a persistent volume (inline CSI
// volumes) leave with their pod and are not.
func (d *Decision) placeVolumes(s State, pods []*corev1.Pod) {
	pinned := map[string]bool{}
	for _, p := range pods {
		if !PinsVolumes(p, s.Now) {
			continue
		}
		for _, claim := range ClaimsOf(p) {
			pinned[s.Volumes[claim]] = true
		}
	}
	var waiting []string
	for _, a := range s.Attachments {
		name := a.Spec.Source.PersistentVolumeName
		if name != nil && *name != "" && !pinned[*name] {
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
