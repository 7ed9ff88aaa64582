// Package v1alpha1 holds the karpenter.kwok.sh/v1alpha1 API: KWOKNodeClass, the
// node class of nodes that exist only in the API server.
//
// +kubebuilder:object:generate=true
// +groupName=karpenter.kwok.sh
package v1alpha1
