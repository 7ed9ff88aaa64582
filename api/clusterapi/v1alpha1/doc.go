// Package v1alpha1 holds the clusterapi.ext.karpenter.sh/v1alpha1 API: ClusterAPINodeClass, the node class of nodes that are
// Machines of Cluster API.
//
// +kubebuilder:object:generate=true
// +groupName=clusterapi.ext.karpenter.sh
package v1alpha1
