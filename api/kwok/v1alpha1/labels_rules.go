package v1alpha1

import (
	"k8s.io/apimachinery/pkg/util/sets"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// Labels returns the label rules of the kwok provider. Callers join them with
// apiv1.CoreLabels.
func Labels() apiv1.LabelRules {
	return apiv1.LabelRules{
		WellKnown: sets.New(
			InstanceSizeLabelKey, InstanceFamilyLabelKey, InstanceCPULabelKey, InstanceMemoryLabelKey,
		),
		RestrictedDomains: []string{Group},
	}
}
