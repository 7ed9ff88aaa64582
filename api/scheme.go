package api

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	autoscalingv1beta1 "github.com/karpenter-go/karpenter/api/autoscaling/v1beta1"
	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	clusterapiv1alpha1 "github.com/karpenter-go/karpenter/api/clusterapi/v1alpha1"
	kwokv1alpha1 "github.com/karpenter-go/karpenter/api/kwok/v1alpha1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	overlayv1alpha1 "github.com/karpenter-go/karpenter/api/v1alpha1"
)

// AddToScheme registers all kinds of all groups.
func AddToScheme(s *runtime.Scheme) error {
	for _, add := range []func(*runtime.Scheme) error{
		apiv1.AddToScheme,
		overlayv1alpha1.AddToScheme,
		autoscalingv1beta1.AddToScheme,
		awsv1.AddToScheme,
		kwokv1alpha1.AddToScheme,
		clusterapiv1alpha1.AddToScheme,
	} {
		if err := add(s); err != nil {
			return fmt.Errorf("register API kinds: %w", err)
		}
	}
	return nil
}

// Scheme returns a new scheme with all kinds of all groups of Karpenter. It
// has no kinds of Kubernetes: a caller that needs those adds them.
func Scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := AddToScheme(s); err != nil {
		panic(err) // AddToScheme fails only if two types have the same group, version and kind.
	}
	return s
}
