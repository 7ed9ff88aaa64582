// Package provision launches nodes for pending pods. A round takes a snapshot, plans, verifies the plan, executes it and reports.
//
// Pods arrive one by one and are planned in batches. A round begins when no new pod has arrived for BatchIdle, or BatchMax after
// the first new pod. Claims whose nodes have not joined count as capacity. So a slow launch delays no other pods.
//
// If a new node cannot run a pod for which it was launched, the next launch for that pod is delayed by a backoff
// (engine/launchbackoff).
//
// The time of the last round and the history of launches are in memory. After a restart, a round begins at once. It launches
// nothing twice, because it counts existing claims. Each pod in a backoff may cause one launch too early.
package provision
