// Package v1alpha1 holds the karpenter.sh/v1alpha1 API: NodeOverlay, which
// changes prices of instance types and adds resources to them in the decisions
// of Karpenter.
//
// +kubebuilder:object:generate=true
// +groupName=karpenter.sh
package v1alpha1
