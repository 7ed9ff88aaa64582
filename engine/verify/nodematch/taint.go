package nodematch

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// TolerationsText returns a text that is equal for equal lists of tolerations.
func TolerationsText(tolerations []corev1.Toleration) string {
	var b strings.Builder
	for _, t := range tolerations {
		fmt.Fprintf(&b, "%s %s %q %s\n", t.Key, t.Operator, t.Value, t.Effect)
	}
	return b.String()
}
