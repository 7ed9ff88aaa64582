// Package decisions is the decision log: a record of each decision with its cause, the refused alternatives, the effects as
// they happen, and the price of the cluster before and after.
//
// Provisioning and disruption call Log.Begin. Effects come from a watch of NodeClaims and from the recorder of events (see Tee),
// so no other controller calls the log. Readers use Log.Snapshot and Log.Subscribe. Encode and Decode store a log in a ConfigMap
// and read it.
//
// The log is a bounded cache. Its loss does no harm: no decision reads it. docs/decisions.md documents the fields.
package decisions
