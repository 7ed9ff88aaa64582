package model

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// ToleratesNumber reports whether a toleration with the operator Lt or Gt admits the value of a taint of its key: both are
// decimal integers, and that of the taint is less or greater. The API server accepts these operators only with the feature
// gate TaintTolerationComparisonOperators, so a pod that has them may use them.
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

// decimal returns an integer in its shortest form. Kubernetes accepts no other form, such as 007 or +7.
func decimal(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == text
}
