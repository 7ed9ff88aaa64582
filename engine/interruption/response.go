package interruption

import (
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// The reasons of events about notices.
const (
	ReasonSpotInterrupted      = "SpotInterrupted"
	ReasonRebalance            = "SpotRebalanceRecommendation"
	ReasonReservationReclaimed = "CapacityReservationInstanceInterrupted"
	ReasonInstanceStopping     = "InstanceStopping"
	ReasonInstanceTerminating  = "InstanceTerminating"
	ReasonInstanceUnhealthy    = "InstanceUnhealthy"
	// ReasonTerminating is the reason of the event that the claim was deleted.
	ReasonTerminating = "TerminatingOnInterruption"
)

// An end is how a claim ends because of a notice.
type end uint8

const (
	keep   end = iota // the claim stays
	expire            // the claim is deleted and its node drained, as an expired one is
	drain             // the same, and new pods are kept off the node at once
	force             // the same, and the drain does not wait for pods
)

// A response is what a kind of notice calls for.
type response struct {
	kind model.NoticeKind
	end  end
	// reason is that of the event that tells of the notice, empty for no event. The event is a warning unless the claim stays.
	reason string
	// unavailable is the capacity type in which the instance's type and zone have no capacity any more, empty for none.
	unavailable string
}

// responses are the answers to all kinds of notices, the least urgent kind first.
var responses = []response{
	{model.NoticeRebalance, keep, ReasonRebalance, ""},
	{model.NoticeReservationExpired, expire, "", ""},
	{model.NoticeEventPending, drain, ReasonInstanceUnhealthy, ""},
	{model.NoticeScheduledChange, drain, ReasonInstanceUnhealthy, ""},
	{model.NoticeInstanceStopped, drain, ReasonInstanceStopping, ""},
	{model.NoticeInstanceTerminated, drain, ReasonInstanceTerminating, ""},
	{model.NoticeReservationReclaimed, drain, ReasonReservationReclaimed, apiv1.CapacityTypeReserved},
	{model.NoticeSpotInterrupted, drain, ReasonSpotInterrupted, apiv1.CapacityTypeSpot},
	{model.NoticeInstanceFailed, force, ReasonInstanceUnhealthy, ""},
	{model.NoticeHostFailed, force, ReasonInstanceUnhealthy, ""},
}

// urgency returns the rank of a kind among all kinds, -1 for one that is not known.
func urgency(kind model.NoticeKind) int {
	for i, r := range responses {
		if r.kind == kind {
			return i
		}
	}
	return -1
}
