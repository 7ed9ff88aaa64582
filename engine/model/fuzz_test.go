package model_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/scenario/rawcluster"
	"github.com/karpenter-go/karpenter/engine/scenario/rawpods"
)

// FuzzApply applies the objects of a cluster in two Deltas, with pods that the API server accepts. The result equals the
// snapshot of the whole cluster, and the snapshot of the first part does not change.
func FuzzApply(f *testing.F) {
	f.Add([]byte{}, uint8(0))
	f.Add([]byte("pods of several namespaces, some of them bound"), uint8(3))
	f.Fuzz(func(t *testing.T, data []byte, at uint8) {
		d := rawcluster.From(t, rawpods.From(data))
		whole := dump(model.Compile(d))
		first, second := d, model.Delta{}
		cut := int(at) % (len(d.Pods) + 1)
		first.Pods, second.Pods = d.Pods[:cut], d.Pods[cut:]
		if at%2 == 1 { // nodes come after the pods that are bound to them
			first.Nodes, second.Nodes = nil, d.Nodes
		}
		s := model.Compile(first)
		before := dump(s)
		if diff := cmp.Diff(whole, dump(s.Apply(second))); diff != "" {
			t.Errorf("in two parts (-whole +parts):\n%s", diff)
		}
		if diff := cmp.Diff(before, dump(s)); diff != "" {
			t.Errorf("Apply changed its receiver:\n%s", diff)
		}
	})
}

// FuzzAmounts converts and adds quantities of any form. Amounts are never negative, and a sum is not less than its parts.
func FuzzAmounts(f *testing.F) {
	for _, pair := range [][2]string{{"500m", "10P"}, {"1", "9E"}, {"9223372036854775807", "1n"}, {"1e100", "0.1"}, {"1Ei", "7Ei"}, {"", "1"}} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		of := func(text string) (model.Resources, bool) {
			q, err := resource.ParseQuantity(text)
			if err != nil || q.Sign() < 0 {
				return nil, false
			}
			return model.RequestsOf(corev1.ResourceList{corev1.ResourceCPU: q, corev1.ResourceMemory: q, "example.com/dongle": q}), true
		}
		x, ok := of(a)
		y, also := of(b)
		if !ok || !also {
			return
		}
		sum := x.Plus(y)
		for name, amount := range sum {
			if amount < 0 || amount < x[name] || amount < y[name] || amount > model.MaxAmount {
				t.Errorf("%s: %d + %d = %d", name, x[name], y[name], amount)
			}
		}
	})
}
