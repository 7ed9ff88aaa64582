// Package aws implements cloud.Provider for AWS: nodes are EC2 instances.
//
// New connects to AWS, reads the instance types, and returns a Provider. Provider.Controllers returns the controllers
// that the program must run. Each concern has a package below this one, with a narrow interface that the SDK's clients
// implement:
//
//	catalog    instance types: labels, capacity, offerings, shortages
//	prices     prices of instance types
//	network    subnets and security groups
//	amis       images          bootstrap  user data        profiles  instance profiles
//	launch     launch templates and fleets, each claim once
//	instances  reading, terminating and tagging instances
//	reserve    capacity reservations     placement  placement groups
//	nodeclass  the controllers of EC2NodeClass
//	interruption  notices of interruption    shift  zonal shifts
//	learned    observed memory of nodes      diagnose  causes why a node does not join
//	limit      rate limits of calls          fault  classification of errors
//	policy     the AWS permissions that the provider needs
//
// All state is a cache of EC2 and the API server. State that must survive a restart is stored on the claims
// (launch.AnnotationLaunch), in instance tags, and in one ConfigMap (package learned).
package aws
