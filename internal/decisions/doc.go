// Package decisions is the decision log: a record of each decision with its cause, the refused alternatives, the effects as
// they happen, and the price of the cluster before and after.
//
// Provisioning and disruption call Log.Begin. Effects come from a watch of NodeClaims and from the recorder of events
// (see Tee), so no other controller knows the log. Readers use Log.Snapshot and Log.Subscribe; with Encode and Decode a
// log passes through a ConfigMap.
//
// The log is a bounded cache. Its loss does no harm: no decision reads it. docs/decisions.md documents the fields.
package decisions
