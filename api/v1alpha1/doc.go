// Package v1alpha1 holds the karpenter.sh/v1alpha1 API: NodeOverlay, which
// corrects prices and adds capacity to instance types as the solver sees them.
//
// +kubebuilder:object:generate=true
// +groupName=karpenter.sh
package v1alpha1
