package model

import "time"

// A Notice is what a cloud says about one of its instances: that it is going away, or that it has gone bad.
type Notice struct {
	Kind NoticeKind
	// Instance is the instance's provider ID, or the part of it after the last slash. It is empty if the notice names a node.
	Instance string
	// Node is the name of a node, for clouds that name nodes in their notices.
	Node string
	// Time is when it happened; zero if the cloud does not say.
	Time time.Time
	// Message is what has happened, in the cloud's words, for the event that users read.
	Message string
}

// A NoticeKind is what a Notice is about. It is a label value in metrics.
type NoticeKind string

// The kinds of notices.
const (
	// NoticeSpotInterrupted means that the cloud takes a spot instance back within minutes.
	NoticeSpotInterrupted NoticeKind = "spot_interrupted"
	// NoticeRebalance means that a spot instance is likely to be interrupted.
	NoticeRebalance NoticeKind = "rebalance_recommendation"
	// NoticeScheduledChange means that the cloud has announced maintenance or retirement of the instance.
	NoticeScheduledChange NoticeKind = "scheduled_change"
	// NoticeInstanceStopped and NoticeInstanceTerminated mean that the instance is being stopped or ended, not by Karpenter.
	NoticeInstanceStopped    NoticeKind = "instance_stopped"
	NoticeInstanceTerminated NoticeKind = "instance_terminated"
	// NoticeReservationReclaimed means that the cloud takes back the reserved capacity that the instance runs in.
	NoticeReservationReclaimed NoticeKind = "capacity_reservation_interrupted"
	// NoticeReservationExpired means that the block of capacity that the instance runs in ends soon.
	NoticeReservationExpired NoticeKind = "capacity_block_expired"
	// NoticeInstanceFailed and NoticeHostFailed mean that the instance, or the machine under it, has failed a check for long.
	NoticeInstanceFailed NoticeKind = "instance_status"
	NoticeHostFailed     NoticeKind = "system_status"
	// NoticeEventPending means that a status check shows an event that is scheduled for the instance.
	NoticeEventPending NoticeKind = "event_status"
)
