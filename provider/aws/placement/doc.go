// Package placement finds the placement groups that node classes launch into. Groups are never made here.
//
// The last answer for each selector is remembered. It serves while EC2 does not answer, and may be lost.
package placement
