// Package ledger adds up what the nodes of a cluster cost over time, by the keys of engine/cost.
//
// Observe takes a snapshot and the disruption decision for it. It charges the rates of the previous snapshot for the time
// between the two. When instances start and end, and from when a price is valid, is read from the objects; the time of
// the observation does not count. So short-lived nodes and prices that become known late are charged as the cloud does.
//
// Amounts are kept in buckets of five minutes, later of hours and days (Book). The number of keys in a bucket is bounded.
// Beyond the bound, owners and namespaces are added to "other".
//
// The ledger also follows the commands of disruption: what they saved after they were carried out (Action), and how far
// plans were from what happened (Predictions).
//
// The state is in memory, and stored in the ConfigMap karpenter-cost once a minute. If the controller starts again within an hour,
// the time in between is charged at the rates of the first snapshot after the start. Without the right to write the ConfigMap,
// amounts begin at zero with each start.
package ledger
