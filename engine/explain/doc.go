// Package explain turns decisions into sentences: why a pod waits and what would let it go, and why a node is what it is.
//
// The verdict in a plan names the first rule that said no. Explaining looks further, at the snapshot that was decided on: it
// collects everything that stands between a pod and a pool, so that the change it proposes is enough, and it orders pools
// by how little is missing. It decides nothing, and no decision reads it.
package explain
