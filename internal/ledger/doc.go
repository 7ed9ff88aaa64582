// Package ledger adds up what the nodes of a cluster cost over time, by the keys of engine/cost.
//
// Observe takes a snapshot and the decision of disruption about it. The rates of the previous one are charged for the time
// since then. Start and end of instances, and the time since when a price is valid, are taken from the objects and not
// from the time of the observation, so short-lived nodes and late prices are charged as the cloud does.
//
// Amounts are kept in buckets of five minutes, later of hours and days (Book). The number of keys in a bucket is bounded.
// Beyond the bound, owners and namespaces are added to "other".
//
// The ledger also follows the commands of disruption: what they saved after they were carried out (Action), and how far
// plans were from what happened (Predictions).
//
// The state is in memory, and stored in the ConfigMap karpenter-cost once a minute. A restart within an hour is bridged with the
// rates that are found after it. Without the right to write the ConfigMap, amounts begin at zero with each start.
package ledger
