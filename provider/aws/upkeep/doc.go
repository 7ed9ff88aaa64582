// Package upkeep keeps EC2 and the cluster in step: instances that no claim wants are ended, instances get the tags that
// are only known once their node has joined, launch templates and instance profiles that nothing uses go, and what is on
// offer is told in metrics.
package upkeep
