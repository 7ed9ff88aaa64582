// Package placement finds the placement groups in which nodes are launched. It never creates groups.
//
// The last result for each selector is cached. It is used while calls of EC2 fail, and may be lost.
package placement
