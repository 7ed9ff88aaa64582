// Package kubelet reads the kubelet section of an EC2NodeClass and says what is wrong with it.
//
// The section is an open object in the API, because it is handed to kubelet as it is where the image family allows that.
// Here it is decoded strictly against kubelet's own configuration type. The fields that change what a node offers, and
// those that families without a pass-through translate one by one, are picked out.
package kubelet
