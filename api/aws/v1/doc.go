// Package v1 holds the karpenter.k8s.aws/v1 API: EC2NodeClass, which configures
// the nodes of a pool on AWS: image, network, disks, role, boot configuration.
//
// +kubebuilder:object:generate=true
// +groupName=karpenter.k8s.aws
package v1
