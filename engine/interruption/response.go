package interruption

import (
	"slices"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// The event reasons.
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

// An end is how a notice ends the claim, if at all.
type end uint8

const (
	keep   end = iota // the claim stays
	expire            // the claim is deleted, so its node is drained
	drain             // as expire, with an event (Action.Ended), and the node is cordoned
	force             // as drain, and the drain does not wait for pods
)

// A response defines the action for a kind of notice.
type response struct {
	kind model.NoticeKind
	end  end
	// reason is the reason of the event about the notice, empty for no event. Its type is Warning, but Normal if the claim
	// stays and for a rebalance recommendation.
	reason string
	// unavailable is the capacity type that has no capacity any more for the instance's type and zone, or for
	// its reservation. It is empty if the notice is not about capacity.
	unavailable string
}

// responses are the responses to all kinds of notices, least urgent first.
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

// announced reports whether the cloud sends notices of the kind once, before it ends or changes the instance.
func announced(kind model.NoticeKind) bool {
	switch kind {
	case model.NoticeSpotInterrupted, model.NoticeReservationReclaimed, model.NoticeRebalance, model.NoticeScheduledChange:
		return true
	}
	return false
}

// to returns the response to one notice. If Notice.Act is set, a rebalance recommendation has the response to an
// interruption of a spot instance.
func (r response) to(n model.Notice) response {
	if n.Kind == model.NoticeRebalance && n.Act {
		r.end, r.unavailable = drain, apiv1.CapacityTypeSpot
	}
	return r
}

// urgency returns the index of the kind in responses, -1 if it is unknown.
func urgency(kind model.NoticeKind) int {
	return slices.IndexFunc(responses, func(r response) bool { return r.kind == kind })
}
