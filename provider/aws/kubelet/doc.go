// Package kubelet decodes and validates the kubelet section of an EC2NodeClass.
//
// The section has no schema in the API, because it is passed to kubelet unchanged if the image family allows that. This
// package decodes it strictly with kubelet's own configuration type. It extracts the fields on which the capacity of a
// node depends, and the fields that other image families support.
package kubelet
