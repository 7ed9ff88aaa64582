package model_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// A pod that opts out needs no node of a NodePool, whether or not a scheduler has tried to place it.
func TestOptsOut(t *testing.T) {
	term := func(key string, op corev1.NodeSelectorOperator) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: "team", Operator: corev1.NodeSelectorOpExists}, {Key: key, Operator: op},
		}}
	}
	out, in := term(apiv1.NodePoolLabelKey, corev1.NodeSelectorOpDoesNotExist), term(apiv1.NodePoolLabelKey, corev1.NodeSelectorOpExists)
	for _, tt := range []struct {
		name  string
		terms []corev1.NodeSelectorTerm
		want  bool
	}{
		{"no affinity", nil, false},
		{"another operator", []corev1.NodeSelectorTerm{in}, false},
		{"another label", []corev1.NodeSelectorTerm{term("pool", corev1.NodeSelectorOpDoesNotExist)}, false},
		{"the only term", []corev1.NodeSelectorTerm{out}, true},
		{"one of two alternatives", []corev1.NodeSelectorTerm{out, in}, false},
		{"both alternatives", []corev1.NodeSelectorTerm{out, out}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := &corev1.Pod{}
			if tt.terms != nil {
				o.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: tt.terms}}}
			}
			p := model.NewPod(o)
			if p.OptsOut() != tt.want || p.Unjudged() == tt.want {
				t.Errorf("opts out: %v, unjudged: %v", p.OptsOut(), p.Unjudged())
			}
			o.Status.Conditions = []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable},
			}
			if p.Provisionable() == tt.want {
				t.Errorf("provisionable: %v", p.Provisionable())
			}
		})
	}
}
