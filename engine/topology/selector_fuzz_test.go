package topology

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// FuzzSelector checks, on keys, operators and values of any form, that the selector of a term selects what Kubernetes defines. An
// invalid selector selects nothing.
func FuzzSelector(f *testing.F) {
	for _, op := range []string{"In", "NotIn", "Exists", "DoesNotExist", "Gt", ""} {
		f.Add("app", op, "web", "app", "web", "version", "1")
		f.Add("app", op, "", "app", "db", "app", "a b")
		f.Add("a b", op, "-", "x/y/z", "web", "", "\xff")
	}
	f.Fuzz(func(t *testing.T, key, op, value, label, have, own, ownValue string) {
		e := metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOperator(op)}
		if op == "In" || op == "NotIn" {
			e.Values = []string{value}
		}
		s := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{e}}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{own: ownValue}}}
		plain, matched := selectorFor(pod, s, nil, nil), selectorFor(pod, s, []string{own}, nil)
		except := selectorFor(pod, s, nil, []string{own})
		_, err := metav1.LabelSelectorAsSelector(s)
		_, invalidOwn := labels.NewRequirement(own, "in", []string{ownValue})
		for _, other := range []labels.Set{{}, {label: have}, {key: value}, {own: ownValue}, {key: value, own: ownValue}} {
			v, ok := other[key]
			want := err == nil && map[string]bool{
				"In": ok && v == value, "NotIn": !ok || v != value, "Exists": ok, "DoesNotExist": !ok,
			}[op]
			if got := plain.Matches(other); got != want {
				t.Errorf("%v matches %v: %v, want %v", s, other, got, want)
			}
			same := other.Has(own) && other[own] == ownValue
			if got := matched.Matches(other); got != (want && same && invalidOwn == nil) {
				t.Errorf("%v with matchLabelKeys %q=%q matches %v: %v", s, own, ownValue, other, got)
			}
			if got := except.Matches(other); got != (want && !same && invalidOwn == nil) {
				t.Errorf("%v with mismatchLabelKeys %q=%q matches %v: %v", s, own, ownValue, other, got)
			}
		}
	})
}
