// Package upkeep has the periodic tasks that keep EC2 consistent with the cluster. They terminate instances without a
// claim, tag instances once their node has joined, and delete unused launch templates and instance profiles. They also
// publish metrics of instance types and prices.
package upkeep
