// Package decisions is the decision log: a record of each decision with its cause, the refused alternatives, the effects as
// they happen, and the price of the cluster before and after.
//
// The controllers that decide call Log.Begin: provisioning, disruption, expiration and interruption. Effects come from a
// watch of NodeClaims and from the recorder of events (see Tee), so controllers do not report effects to the log. Readers
// use Log.Snapshot, Log.Find and Log.Subscribe. Encode returns the text of a log for a ConfigMap, and Decode reads it.
//
// The log is a bounded cache. Its loss does no harm: no decision reads it. docs/decisions.md documents the fields.
package decisions
