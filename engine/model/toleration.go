package model

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// ToleratesNumber reports whether a toleration with the operator Lt or Gt admits the value of a taint with the same
// key. Both values must be decimal integers, and the value of the taint must be less or greater. The feature gate
// TaintTolerationComparisonOperators need not be checked, because the API server rejects these operators without it.
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
