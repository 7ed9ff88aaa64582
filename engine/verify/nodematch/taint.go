package nodematch

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	helper "k8s.io/component-helpers/scheduling/corev1"
)

// Untolerated returns the first taint that excludes pods with these tolerations from a node, if any. Taints with effect
// PreferNoSchedule exclude no pod.
func Untolerated(tolerations []corev1.Toleration, taints []corev1.Taint) (corev1.Taint, bool) {
	for i := range taints {
		if taints[i].Effect != corev1.TaintEffectPreferNoSchedule &&
			!withZeroLogger(helper.TolerationsTolerateTaint, tolerations, &taints[i]) {
			return taints[i], true
		}
	}
	return corev1.Taint{}, false
}

// withZeroLogger calls f with the zero value of its logger type, which discards all messages. The type is inferred, so
// that the engine imports no logger. The last argument of f enables the numeric operators Lt and Gt. Their feature gate
// need not be checked, because the API server rejects these operators without it.
func withZeroLogger[Logger any](
	f func(Logger, []corev1.Toleration, *corev1.Taint, bool) bool,
	tolerations []corev1.Toleration, taint *corev1.Taint,
) bool {
	var none Logger
	return f(none, tolerations, taint, true)
}

// TolerationsText returns a text that is equal for equal lists of tolerations.
func TolerationsText(tolerations []corev1.Toleration) string {
	var b strings.Builder
	for _, t := range tolerations {
		fmt.Fprintf(&b, "%s %s %q %s\n", t.Key, t.Operator, t.Value, t.Effect)
	}
	return b.String()
}
