// Package ledger adds up the costs of the nodes of a cluster over time, by the keys of engine/cost.
//
// Observe takes a snapshot and the disruption decision for it. It charges the rates of the previous snapshot for the time
// between the two. Start and end of instances, and the time from which a price is valid, are read from the objects and not
// from the time of the observation. (The end of an instance whose claim is gone is taken to be in the middle between two
// observations.) So nodes that live for a short time, and prices that become known late, are charged as the cloud charges
// them.
//
// Amounts are stored in buckets of five minutes, which are later merged into buckets of hours and days (Book). The number
// of keys in a bucket is bounded. If there are too many, amounts of some namespaces, owners and labels are added to
// "other".
//
// The ledger also follows the commands of disruption. It records what they saved after they were carried out (Action), and how
// much plans differed from the result (Predictions).
//
// The state is in memory, and is stored in the ConfigMap karpenter-cost once a minute. If the controller starts again within an
// hour, the time in between is charged at the rates of the first snapshot after the start. Without the permission to write the
// ConfigMap, amounts begin at zero with each start.
package ledger
