// Package throttle pauses launches and disruptions in the whole cluster, or limits their number per minute.
//
// The limits come from the settings of the process. The ConfigMap karpenter-throttle in the controller's namespace overrides
// them, so that users can change them without a restart. The ConfigMap is read every few seconds and is the only stored state.
// Launches and disruptions of the last minute are counted in memory. After a restart the count begins at zero, so one minute may
// exceed its limit.
package throttle
