// Package aws implements cloud.Provider for AWS: nodes are EC2 instances.
//
// New connects to AWS, reads the instance types, and returns a Provider. Provider.Controllers returns the controllers
// that the program must run. Each concern has a package below this one, with a narrow interface that the SDK's clients
// implement:
//
//	catalog    instance types: labels, capacity, offerings, what is out of stock
//	prices     what they cost
//	network    subnets and security groups
//	amis       images          bootstrap  user data        profiles  instance profiles
//	launch     launch templates and fleets, each claim once
//	instances  reading, ending and tagging instances
//	reserve    capacity reservations     placement  placement groups
//	nodeclass  the controllers of EC2NodeClass
//	interruption  notices of interruption    shift  zones to keep out of
//	learned    what nodes really have        diagnose  why a node does not join
//	limit      the pace of calls             fault  what errors mean
//	policy     the permissions that all of this needs
//
// All state is a cache of EC2 and the API server. State that must survive a restart is stored on the claims
// (launch.AnnotationLaunch), in instance tags, and in one ConfigMap (package learned).
package aws
