// Package network finds the subnets and security groups that a node class selects, and decides which subnet a launch uses.
//
// A launch uses, in each zone, the subnet with the most free addresses. Addresses of launches since the last reading
// from EC2 are subtracted, so that launches in quick succession use different subnets. The counts are a cache and may
// be lost.
package network
