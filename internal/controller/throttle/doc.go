// Package throttle limits the whole cluster: it pauses launches and disruptions, or bounds their number per minute.
//
// The limits come from the settings of the process. The ConfigMap karpenter-throttle in its namespace overrides them, so that an
// operator can change them without a restart. It is read every few seconds and is the only stored state. Launches and
// disruptions of the last minute are counted in memory. After a restart the count begins at zero, so a minute may exceed its
// limit once.
package throttle
