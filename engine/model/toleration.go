package model

import (
	"strconv"

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

// ToleratesNumber reports whether a toleration with the operator Lt or Gt admits the value of a taint with the same
// key. Both values must be decimal integers. For Lt, the value of the taint must be less than that of the toleration,
// and for Gt greater. The feature gate TaintTolerationComparisonOperators need not be checked, because the API server
// rejects these operators without it.
func ToleratesNumber(t corev1.Toleration, taint corev1.Taint) bool {
	bound, ok1 := decimal(t.Value)
	value, ok2 := decimal(taint.Value)
	switch {
	case !ok1 || !ok2:
		return false
	case t.Operator == corev1.TolerationOpLt:
		return value < bound
	case t.Operator == corev1.TolerationOpGt:
		return value > bound
	}
	return false
}

// decimal parses a decimal integer in its shortest form. As in Kubernetes, other forms such as 007 or +7 are not valid.
func decimal(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == text
}
