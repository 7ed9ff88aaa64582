package nodepool

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

func TestValidation(t *testing.T) {
	w := newWorld(t, aPool(func(p *apiv1.NodePool) {
		p.Spec.Template.Labels = map[string]string{apiv1.NodePoolLabelKey: "mine", "team": "a"}
		p.Spec.Template.Spec.Taints = []corev1.Taint{{Key: "a b", Effect: corev1.TaintEffectNoSchedule}}
	}))
	controller := &Validation{Client: w, Clock: w.clock, Cloud: onlyFacts{}}
	pool, _ := w.run(controller)
	got := condition.Get(pool, apiv1.ConditionTypeValidationSucceeded)
	if got == nil || got.Status != "False" || got.Reason != "NodePoolValidationFailed" {
		t.Fatalf("condition is %+v", got)
	}
	for _, want := range []string{apiv1.NodePoolLabelKey, `"a b"`} {
		if !strings.Contains(got.Message, want) {
			t.Errorf("message %q lacks %s", got.Message, want)
		}
	}

	pool.Spec = aPool().Spec
	w.must(w.Update(t.Context(), pool))
	pool, _ = w.run(controller)
	if got := condition.Get(pool, apiv1.ConditionTypeValidationSucceeded); got.Status != "True" {
		t.Errorf("condition is %+v after the repair", got)
	}
}
