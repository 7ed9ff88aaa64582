// Package aws is AWS behind cloud.Provider: EC2 instances as nodes of a cluster.
//
// New connects, reads what EC2 sells, and returns a Provider: a value for the composition root, with the controllers it
// needs (Controllers). Each concern is a package below this one, on a narrow interface that the SDK's clients satisfy:
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
// All state is a cache of EC2 and the API server. What must survive a restart is on the claims (launch.AnnotationLaunch),
// in instance tags, and in one ConfigMap (learned).
package aws
