package workload

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// Pool returns an on-demand pool without limits that is ready, and whose nodes may all be disrupted at the same time.
func Pool(name string) *apiv1.NodePool {
	p := &apiv1.NodePool{
		TypeMeta:   metav1.TypeMeta{APIVersion: apiv1.Group + "/v1", Kind: "NodePool"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
	}
	p.Spec.Template.Spec = apiv1.NodeClaimTemplateSpec{
		NodeClassRef: &apiv1.NodeClassReference{Group: "karpenter.k8s.aws", Kind: "EC2NodeClass", Name: "default"},
		Requirements: []apiv1.NodeSelectorRequirementWithMinValues{{
			Key: apiv1.CapacityTypeLabelKey, Operator: corev1.NodeSelectorOpIn, Values: []string{apiv1.CapacityTypeOnDemand},
		}},
	}
	p.Spec.Disruption = apiv1.Disruption{
		ConsolidationPolicy: apiv1.ConsolidationPolicyWhenEmptyOrUnderutilized,
		ConsolidateAfter:    apiv1.MustParseNillableDuration("0s"),
		Budgets:             []apiv1.Budget{{Nodes: "100%"}},
	}
	p.Status.Conditions = []metav1.Condition{{Type: apiv1.ConditionTypeReady, Status: metav1.ConditionTrue}}
	return p
}
