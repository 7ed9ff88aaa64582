package nodematch

import (
	"fmt"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	helper "k8s.io/component-helpers/scheduling/corev1"
)

// Untolerated returns the first taint that excludes pods with these tolerations from a node, if any. Taints with effect
// PreferNoSchedule exclude no pod. The last argument of the helper enables the operators Lt and Gt. Their feature gate need
// not be checked, because the API server rejects these operators without it.
func Untolerated(tolerations []corev1.Toleration, taints []corev1.Taint) (corev1.Taint, bool) {
	for i := range taints {
		if taints[i].Effect != corev1.TaintEffectPreferNoSchedule &&
			!helper.TolerationsTolerateTaint(logr.Discard(), tolerations, &taints[i], true) {
			return taints[i], true
		}
	}
	return corev1.Taint{}, false
}

// TolerationsText returns a text that is equal for equal lists of tolerations.
func TolerationsText(tolerations []corev1.Toleration) string {
	var b strings.Builder
	for _, t := range tolerations {
		fmt.Fprintf(&b, "%s %s %q %s\n", t.Key, t.Operator, t.Value, t.Effect)
	}
	return b.String()
}
