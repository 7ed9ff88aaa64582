package require

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// FuzzIntersect checks, on operators and values of any form, that an intersection admits exactly what both sides admit.
func FuzzIntersect(f *testing.F) {
	for _, op := range []string{"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte", "?"} {
		f.Add(op, "5", "NotIn", "7", "6")
		f.Add(op, "a", "In", "a", "a")
		f.Add(op, "-1", "Gt", "9223372036854775807", "")
	}
	f.Fuzz(func(t *testing.T, op1, value1, op2, value2, probe string) {
		a := New("key", corev1.NodeSelectorOperator(op1), value1)
		b := New("key", corev1.NodeSelectorOperator(op2), value2)
		both := a.Intersect(b)
		for _, v := range []string{probe, value1, value2} {
			if both.Has(v) != (a.Has(v) && b.Has(v)) {
				t.Errorf("(%v) and (%v) = (%v), wrong about %q", a, b, both, v)
			}
		}
		if !both.Equal(b.Intersect(a)) {
			t.Errorf("(%v) and (%v) do not commute", a, b)
		}
		if !slices.IsSorted(both.Values()) {
			t.Errorf("values of (%v) are not sorted", both)
		}
	})
}
