package model

import "time"

// A Notice is a message of the cloud that an instance is unhealthy, has stopped, or will or may be stopped soon.
type Notice struct {
	Kind NoticeKind
	// Instance is the instance's provider ID, or the part of it after the last slash. It is empty if the notice names a
	// node.
	Instance string
	// Node is the name of a node, for clouds that name nodes in their notices.
	Node string
	// Time is the time of the event, zero if the cloud does not report it.
	Time time.Time
	// Act is true if the settings of the provider require an action for a notice that is usually only reported.
	Act bool
	// Message is the cloud's description of what happened. It is shown in a Kubernetes event.
	Message string
}

// A NoticeKind is the kind of event of a Notice. It is a label value in metrics.
type NoticeKind string

// The kinds of notices.
const (
	// NoticeSpotInterrupted means that the cloud reclaims a spot instance within minutes.
	NoticeSpotInterrupted NoticeKind = "spot_interrupted"
	// NoticeRebalance means that a spot instance is likely to be interrupted.
	NoticeRebalance NoticeKind = "rebalance_recommendation"
	// NoticeScheduledChange means that the cloud has announced maintenance or retirement of the instance.
	NoticeScheduledChange NoticeKind = "scheduled_change"
	// NoticeInstanceStopped and NoticeInstanceTerminated mean that the instance is stopped or terminated, or will be at once.
	// The notice does not tell who requested that.
	NoticeInstanceStopped    NoticeKind = "instance_stopped"
	NoticeInstanceTerminated NoticeKind = "instance_terminated"
	// NoticeReservationReclaimed means that the cloud reclaims the reserved capacity in which the instance runs.
	NoticeReservationReclaimed NoticeKind = "capacity_reservation_interrupted"
	// NoticeReservationExpired means that the capacity block in which the instance runs ends soon.
	NoticeReservationExpired NoticeKind = "capacity_block_expired"
	// NoticeInstanceFailed and NoticeHostFailed mean that status checks of the instance, or of its host, have failed
	// for a while.
	NoticeInstanceFailed NoticeKind = "instance_status"
	NoticeHostFailed     NoticeKind = "system_status"
	// NoticeEventPending means that a status check reports an event that is scheduled for the instance.
	NoticeEventPending NoticeKind = "event_status"
)
