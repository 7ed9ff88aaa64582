// Package upkeep keeps EC2 consistent with the cluster. It terminates instances without a claim, tags instances once their node
// has joined, deletes launch templates and instance profiles that nothing uses, and publishes metrics of instance types and
// prices.
package upkeep
