package telemetry

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// A Reason is the documentation of one event reason, and how often it may be published.
type Reason struct {
	// Name is the reason itself.
	Name string
	// Type is Normal or Warning.
	Type string
	// Objects are the kinds of objects that get it.
	Objects string
	// Dedupe is how long the same event is not published again if the Event does not say; 0 stands for DefaultDedupe.
	Dedupe time.Duration
	// PerSecond and Burst bound how many are published for all objects together; 0 for no bound.
	PerSecond float64
	Burst     int
	// When says what has happened.
	When string
}

// DefaultDedupe is how long the same event is not published again.
const DefaultDedupe = 2 * time.Minute

// Reasons returns all reasons in the order of the documentation. Besides, a change of a status condition is published with
// the type of the condition as reason.
func Reasons() []Reason {
	const normal, warning = corev1.EventTypeNormal, corev1.EventTypeWarning
	const nodeAndClaim = "Node, NodeClaim"
	short, long := time.Minute, 15*time.Minute
	return []Reason{
		{Name: EventNominated, Type: normal, Objects: "Pod", PerSecond: 5, Burst: 10,
			When: "the pod was given a place on an existing node or a new claim; when it had one before, " +
				"what became of that, if it is known"},
		{Name: EventFailedScheduling, Type: warning, Objects: "Pod", Dedupe: 5 * time.Minute,
			When: "the pod asks for something invalid, or no node can be made that takes it"},
		{Name: EventLaunchBackoff, Type: warning, Objects: "Pod",
			When: "a node came up for the pod that it could not use, and the next launch for it has to wait"},
		{Name: EventNoCompatibleInstanceTypes, Type: warning, Objects: "NodePool", Dedupe: short,
			When: "the requirements of the pool leave no instance type"},
		{Name: EventInsufficientCapacityError, Type: warning, Objects: "NodeClaim",
			When: "the cloud has none of what the claim allows"},
		{Name: EventUnregisteredTaintMissing, Type: warning, Objects: "NodeClaim",
			When: "the node joined without the taint karpenter.sh/unregistered"},
		{Name: EventFailedConsistencyCheck, Type: warning, Objects: "NodeClaim",
			When: "the node has less than 90% of the capacity that was expected"},
		{Name: EventDisruptionBlocked, Type: normal, Objects: nodeAndClaim + ", NodePool",
			When: "something keeps the node from disruption, or the budget of the pool is spent (pool: 1m0s)"},
		{Name: EventUnconsolidatable, Type: normal, Objects: nodeAndClaim, Dedupe: long,
			When: "consolidation cannot do better than this node"},
		{Name: EventConsolidationCandidate, Type: normal, Objects: nodeAndClaim,
			When: "the node is part of a consolidation that is being weighed"},
		{Name: EventConsolidationRejected, Type: normal, Objects: nodeAndClaim,
			When: "the consolidation saves too little for what it disturbs"},
		{Name: EventConsolidationApproved, Type: normal, Objects: nodeAndClaim + ", NodePool",
			When: "the consolidation saves enough for what it disturbs"},
		{Name: EventDisruptionLaunching, Type: normal, Objects: "NodeClaim",
			When: "the claim replaces a disrupted node and is being launched"},
		{Name: EventDisruptionWaitingReadiness, Type: normal, Objects: "NodeClaim",
			When: "the disrupted node stays until this claim is initialized"},
		{Name: EventDisruptionTerminating, Type: normal, Objects: nodeAndClaim,
			When: "disruption deletes the claim"},
		{Name: EventDisruptionWithheld, Type: normal, Objects: nodeAndClaim, Dedupe: long,
			When: "the node would be disrupted if the mode of its pool allowed it"},
		{Name: EventLaunchWithheld, Type: normal, Objects: "NodePool", Dedupe: short,
			When: "nodes would be launched if the mode of the pool, a pause or a bound a minute allowed it"},
		{Name: EventDisruptionCancelled, Type: warning, Objects: nodeAndClaim,
			When: "a replacement did not come up, so the node stays"},
		{Name: EventEvicted, Type: normal, Objects: "Pod", When: "the API server accepted the eviction"},
		{Name: EventDisrupted, Type: normal, Objects: "Pod",
			When: "the pod was deleted so that it ends before the grace period of its node does"},
		{Name: EventFailedDraining, Type: warning, Objects: "Node",
			When: "pods remain on the node, or a disruption budget forbids their eviction"},
		{Name: EventTerminationGracePeriodExpiring, Type: warning, Objects: nodeAndClaim,
			When: "the node ends by force at the time given"},
		{Name: EventAwaitingVolumeDetachment, Type: normal, Objects: "Node",
			When: "volumes are still attached to the drained node"},
		{Name: EventNodeRepairBlocked, Type: warning, Objects: nodeAndClaim, Dedupe: long,
			When: "more than 20% of the nodes are unhealthy, so none is repaired"},
		{Name: EventInvalidDoNotDisruptAnnotation, Type: warning, Objects: "Pod",
			When: "karpenter.sh/do-not-disrupt is neither true nor a positive duration"},
		{Name: EventDoNotDisruptUntil, Type: normal, Objects: "Pod",
			When: "the pod keeps its node until the time given"},
		{Name: EventDoNotDisruptGracePeriodElapsed, Type: normal, Objects: "Pod",
			When: "the pod no longer keeps its node"},
		{Name: EventFailedTermination, Type: warning, Objects: nodeAndClaim,
			When: "the instance cannot be ended"},
		{Name: EventNodeClassNotReady, Type: warning, Objects: "NodeClaim",
			When: "the node class of the claim is not ready"},
		{Name: EventFinalized, Type: normal, Objects: "NodeClaim, NodePool, Node, node class, CapacityBuffer",
			When: "the finalizer was removed from the deleted object"},
		{Name: EventWaitingOnNodeClaimTermination, Type: normal, Objects: "EC2NodeClass",
			When: "claims still use the deleted node class"},
		{Name: EventZonalShiftActive, Type: warning, Objects: "NodePool",
			When: "a zonal shift moves traffic out of a zone of the pool"},
		{Name: EventZonalShiftCleared, Type: normal, Objects: "NodePool", When: "the zonal shift is over"},
		{Name: EventSpotInterrupted, Type: warning, Objects: nodeAndClaim,
			When: "EC2 takes the spot instance back in two minutes"},
		{Name: EventSpotRebalanceRecommendation, Type: normal, Objects: nodeAndClaim,
			When: "EC2 says that the spot instance is likely to be interrupted"},
		{Name: EventCapacityReservationInterrupted, Type: warning, Objects: nodeAndClaim,
			When: "EC2 takes the reserved capacity of the instance back"},
		{Name: EventInstanceStopping, Type: warning, Objects: nodeAndClaim,
			When: "the instance is being stopped by somebody else"},
		{Name: EventInstanceTerminating, Type: warning, Objects: nodeAndClaim,
			When: "the instance is being ended by somebody else"},
		{Name: EventInstanceUnhealthy, Type: warning, Objects: nodeAndClaim,
			When: "EC2 reports a failed status check or a scheduled change"},
		{Name: EventTerminatingOnInterruption, Type: warning, Objects: nodeAndClaim,
			When: "the claim is deleted because of an interruption"},
		{Name: EventSpotSLRCreationFailed, Type: warning, Objects: "NodeClaim",
			When: "the service-linked role for spot instances does not exist and cannot be created"},
		{Name: EventNodeJoinDelayed, Type: warning, Objects: "NodeClaim", Dedupe: long,
			When: "the node is late, and its console says why"},
	}
}

// reasonsByKey maps reasons in lower case to what is known of them.
func reasonsByKey() map[string]Reason {
	table := map[string]Reason{}
	for _, r := range Reasons() {
		table[strings.ToLower(r.Name)] = r
	}
	return table
}
