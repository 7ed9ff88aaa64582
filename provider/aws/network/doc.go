// Package network finds the subnets and security groups that a node class selects, and decides which subnet a launch uses.
//
// A launch takes, in each zone, the subnet with the most free addresses. What was launched since EC2 last counted them is
// deducted, so that launches in quick succession spread. The count is a cache and may be lost.
package network
