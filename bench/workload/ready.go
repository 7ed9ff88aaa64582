package workload

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

var ready = metav1.Condition{Type: apiv1.ConditionTypeReady, Status: metav1.ConditionTrue}
