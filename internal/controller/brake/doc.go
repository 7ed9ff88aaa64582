// Package brake holds the whole cluster back: launches and disruptions can be paused, and bounded by the minute.
//
// What is in force comes from the settings of the process, and on top of them from the ConfigMap karpenter-brake in its
// namespace, so that somebody in a hurry need not start the controller again. The ConfigMap is read every few seconds. It
// is the only state; what was done within the last minute is counted in memory and may be lost: then a minute allows what
// the last one did as well.
package brake
