package model

import (
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	schedulingcorev1 "k8s.io/component-helpers/scheduling/corev1"
)

// Untolerated returns the first taint that excludes pods with these tolerations from a node, if any. Taints with effect
// PreferNoSchedule exclude no pod.
func Untolerated(tolerations []corev1.Toleration, taints []corev1.Taint) (corev1.Taint, bool) {
	for _, taint := range taints {
		if taint.Effect != corev1.TaintEffectPreferNoSchedule && !Tolerates(tolerations, taint) {
			return taint, true
		}
	}
	return corev1.Taint{}, false
}

// Tolerates reports whether one of the tolerations tolerates the taint, whatever its effect. It uses the helper of
// kube-scheduler, whose last argument enables the operators Lt and Gt.
func Tolerates(tolerations []corev1.Toleration, taint corev1.Taint) bool {
	return schedulingcorev1.TolerationsTolerateTaint(logr.Discard(), tolerations, &taint, true)
}
