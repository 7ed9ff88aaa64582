// Package kubelet decodes and validates the kubelet section of an EC2NodeClass.
//
// The section is an open object in the API, because it is passed to kubelet unchanged where the image family allows that. This
// package decodes it strictly with kubelet's own configuration type. It extracts the fields that change a node's capacity, and
// those that other image families translate one by one.
package kubelet
