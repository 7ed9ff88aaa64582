package interruption

import (
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/provider/aws/fault"
)

// NoOp is the kind of messages that require no action, or whose type is unknown. No notice has this kind.
const NoOp cloud.NoticeKind = "no_op"

// messages are the texts of notices by kind, with the terms of EC2.
var messages = map[cloud.NoticeKind]string{
	model.NoticeSpotInterrupted:      "Spot interruption: EC2 reclaims the instance in 2 minutes",
	model.NoticeRebalance:            "EC2 rebalance recommendation: elevated risk of a spot interruption",
	model.NoticeReservationReclaimed: "Capacity reservation interruption: EC2 reclaims the capacity of the instance",
	model.NoticeInstanceStopped:      "Instance is being stopped outside Karpenter",
	model.NoticeInstanceTerminated:   "Instance is being terminated outside Karpenter",
	model.NoticeScheduledChange:      "EC2 has scheduled maintenance or retirement of the instance",
	model.NoticeEventPending:         "EC2 has scheduled maintenance or retirement of the instance",
	model.NoticeInstanceFailed:       "EC2 instance status check failed",
	model.NoticeHostFailed:           "EC2 system status check failed",
}

// A briefError is an error whose text has no request ID or other part that differs between calls. So a repeated error
// is logged once.
type briefError struct{ cause error }

func (e briefError) Error() string { return fault.Brief(e.cause) }
func (e briefError) Unwrap() error { return e.cause }

func brief(err error) error { return briefError{err} }
