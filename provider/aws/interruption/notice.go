package interruption

import (
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/provider/aws/fault"
)

// NoOp is the kind of messages that call for nothing, or are not known here. No notice has it.
const NoOp cloud.NoticeKind = "no_op"

// messages say in EC2's terms what has happened to an instance.
var messages = map[cloud.NoticeKind]string{
	model.NoticeSpotInterrupted:      "EC2 takes the spot instance back in two minutes",
	model.NoticeRebalance:            "EC2 says that the spot instance is likely to be interrupted",
	model.NoticeReservationReclaimed: "EC2 takes the reserved capacity back",
	model.NoticeInstanceStopped:      "the instance is being stopped",
	model.NoticeInstanceTerminated:   "the instance is being ended",
	model.NoticeScheduledChange:      "EC2 has scheduled maintenance of the instance, or its retirement",
	model.NoticeEventPending:         "EC2 has scheduled maintenance of the instance, or its retirement",
	model.NoticeInstanceFailed:       "the instance fails EC2's status check",
	model.NoticeHostFailed:           "the host of the instance fails EC2's status check",
}

// A briefError is an error whose text does not change from call to call, so that it is logged once.
type briefError struct{ cause error }

func (e briefError) Error() string { return fault.Brief(e.cause) }
func (e briefError) Unwrap() error { return e.cause }

func brief(err error) error { return briefError{err} }
