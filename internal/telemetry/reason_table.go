package telemetry

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// A Reason has the documentation of one reason of events, and the limits on publishing them.
type Reason struct {
	// Name is the reason itself.
	Name string
	// Type is Normal or Warning.
	Type string
	// Objects has the kinds of the objects that events with this reason are about.
	Objects string
	// Dedupe is the minimum time between two equal events, unless Event.For is set; 0 stands for DefaultDedupe.
	Dedupe time.Duration
	// PerSecond and Burst limit the events of this reason about pods, for all pods together; 0 stands for no limit.
	PerSecond float64
	Burst     int
	// When states when the event is published. It is text of the documentation.
	When string
}

// DefaultDedupe is the default minimum time between two equal events.
const DefaultDedupe = 2 * time.Minute

// Reasons returns all reasons in the order of the documentation. It has no events about changes of status conditions: their
// reason is the type of the condition.
func Reasons() []Reason {
	const normal, warning = corev1.EventTypeNormal, corev1.EventTypeWarning
	const nodeAndClaim = "Node, NodeClaim"
	short, long := time.Minute, 15*time.Minute
	return []Reason{
		{Name: EventNominated, Type: normal, Objects: "Pod", PerSecond: 5, Burst: 10,
			When: "the pod was planned onto an existing node or a new NodeClaim; if it was planned before, the message says " +
				"why the earlier target was not used, if that is known"},
		{Name: EventFailedScheduling, Type: warning, Objects: "Pod", Dedupe: 5 * time.Minute,
			When: "the constraints of the pod are invalid, or no node that can be launched is feasible for it; if the kind of reason " +
				"changes, the event comes at once"},
		{Name: EventLaunchBackoff, Type: warning, Objects: "Pod",
			When: "a node that was launched for the pod could not run it, and the next launch is delayed"},
		{Name: EventNominationsIgnored, Type: warning, Objects: "NodePool", Dedupe: long,
			When: "most nominated pods of a scheduler are bound to other nodes, so new nodes are planned with free capacity"},
		{Name: EventNoCompatibleInstanceTypes, Type: warning, Objects: "NodePool", Dedupe: short,
			When: "no instance type matches the requirements of the NodePool, none that matches has an available offering, or those that " +
				"have one are too few for `minValues`; it is checked while pods are pending, and while a static NodePool lacks nodes"},
		{Name: EventInsufficientCapacityError, Type: warning, Objects: "NodeClaim, Pod", PerSecond: 5, Burst: 10,
			When: "the cloud has no capacity for any offering that the NodeClaim allows, or that the NodeClaim planned for the pod allows"},
		{Name: EventUnregisteredTaintMissing, Type: warning, Objects: "NodeClaim",
			When: "the node registered without the taint karpenter.sh/unregistered"},
		{Name: EventFailedConsistencyCheck, Type: warning, Objects: "NodeClaim",
			When: "the node has less than 90% of the expected capacity"},
		{Name: EventDisruptionBlocked, Type: normal, Objects: nodeAndClaim + ", NodePool",
			When: "the node cannot be disrupted, or has no NodePool (a new cause is reported at once), or the disruption budgets of the NodePool allow none now " +
				"(NodePool: not repeated for 1 min)"},
		{Name: EventUnconsolidatable, Type: normal, Objects: nodeAndClaim, Dedupe: long,
			When: "consolidation does not remove the node, for the reason in the message (a new cause is reported at once)"},
		{Name: EventConsolidationCandidate, Type: normal, Objects: nodeAndClaim,
			When: "the node is part of a consolidation that begins"},
		{Name: EventConsolidationRejected, Type: normal, Objects: nodeAndClaim,
			When: "the score of the consolidation is too low (consolidationPolicy Balanced), or the cluster changed before it was carried out"},
		{Name: EventConsolidationApproved, Type: normal, Objects: nodeAndClaim + ", NodePool",
			When: "the score of the consolidation is high enough (consolidationPolicy Balanced); for several nodes on the NodePool"},
		{Name: EventDisruptionLaunching, Type: normal, Objects: "NodeClaim",
			When: "the NodeClaim replaces a disrupted node and is being launched"},
		{Name: EventDisruptionWaitingReadiness, Type: normal, Objects: "NodeClaim",
			When: "the disrupted node is deleted when this NodeClaim is initialized"},
		{Name: EventDisruptionTerminating, Type: normal, Objects: nodeAndClaim,
			When: "the NodeClaim is deleted by disruption"},
		{Name: EventDisruptionWithheld, Type: normal, Objects: nodeAndClaim, Dedupe: long,
			When: "the node is not disrupted because of the mode of its NodePool, or because launches are paused or replacements " +
				"limited (another of these is reported at once); for a pause or limit of disruption itself the event is DisruptionBlocked"},
		{Name: EventLaunchWithheld, Type: normal, Objects: "NodePool", Dedupe: short,
			When: "nodes are not launched because of the mode of the NodePool, a pause or a rate limit"},
		{Name: EventDisruptionCancelled, Type: warning, Objects: nodeAndClaim,
			When: "a disruption was cancelled, such as when a replacement was not initialized, and the node is kept"},
		{Name: EventEvicted, Type: normal, Objects: "Pod", When: "the API server accepted the eviction"},
		{Name: EventDisrupted, Type: normal, Objects: "Pod",
			When: "the pod was deleted, because its node has a termination deadline that the pod would outlive"},
		{Name: EventFailedDraining, Type: warning, Objects: "Node",
			When: "pods of the node cannot be evicted because of a PodDisruptionBudget or do-not-disrupt, also before a reboot by node repair"},
		{Name: EventTerminationGracePeriodExpiring, Type: warning, Objects: nodeAndClaim,
			When: "the node has a termination deadline; each pod is deleted early enough to have its terminationGracePeriodSeconds before it, if possible"},
		{Name: EventAwaitingVolumeDetachment, Type: normal, Objects: "Node",
			When: "volumes are still attached to the drained node"},
		{Name: EventNodeRepairBlocked, Type: warning, Objects: nodeAndClaim + ", NodePool", Dedupe: long,
			When: "node repair waits: more than 20% of the nodes are unhealthy and another one is being repaired, or earlier repairs " +
				"of the NodePool did not help"},
		{Name: EventRebootObserved, Type: normal, Objects: "NodeClaim", Dedupe: 30 * time.Minute,
			When: "the node that node repair reboots has booted again"},
		{Name: EventRebootFailed, Type: warning, Objects: "NodeClaim", Dedupe: 30 * time.Minute,
			When: "the node could not be rebooted, or did not become ready again; it is replaced"},
		{Name: EventInvalidDoNotDisruptAnnotation, Type: warning, Objects: "Pod",
			When: "annotation karpenter.sh/do-not-disrupt is neither true nor a positive duration, and is ignored"},
		{Name: EventDoNotDisruptUntil, Type: normal, Objects: "Pod",
			When: "the pod is not evicted before the time in the message, because of annotation karpenter.sh/do-not-disrupt"},
		{Name: EventDoNotDisruptGracePeriodElapsed, Type: normal, Objects: "Pod",
			When: "annotation karpenter.sh/do-not-disrupt of the pod has expired"},
		{Name: EventFailedTermination, Type: warning, Objects: nodeAndClaim,
			When: "the instance could not be terminated"},
		{Name: EventNodeClassNotReady, Type: warning, Objects: "NodeClaim",
			When: "the NodeClaim was not launched and is deleted, because its node class is missing, is being deleted or is not ready"},
		{Name: EventFinalized, Type: normal, Objects: "NodeClaim, NodePool, Node, node class, CapacityBuffer",
			When: "the finalizer was removed from the deleted object"},
		{Name: EventWaitingOnNodeClaimTermination, Type: normal, Objects: "EC2NodeClass, ClusterAPINodeClass",
			When: "NodeClaims still use the deleted node class"},
		{Name: EventZonalShiftActive, Type: warning, Objects: "NodePool",
			When: "no nodes are launched or disrupted voluntarily in a zone of the NodePool because of a zonal shift"},
		{Name: EventZonalShiftCleared, Type: normal, Objects: "NodePool", When: "the zonal shift ended"},
		{Name: EventSpotInterrupted, Type: warning, Objects: nodeAndClaim,
			When: "EC2 reclaims the spot instance in two minutes"},
		{Name: EventSpotRebalanceRecommendation, Type: normal, Objects: nodeAndClaim,
			When: "EC2 reports an elevated risk of a spot interruption"},
		{Name: EventCapacityReservationInterrupted, Type: warning, Objects: nodeAndClaim,
			When: "EC2 reclaims the reserved capacity of the instance"},
		{Name: EventInstanceStopping, Type: warning, Objects: nodeAndClaim,
			When: "the instance is being stopped outside Karpenter"},
		{Name: EventInstanceTerminating, Type: warning, Objects: nodeAndClaim,
			When: "the instance is being terminated outside Karpenter"},
		{Name: EventInstanceUnhealthy, Type: warning, Objects: nodeAndClaim,
			When: "EC2 reports a failed status check or a scheduled change"},
		{Name: EventTerminatingOnInterruption, Type: warning, Objects: nodeAndClaim,
			When: "the NodeClaim is deleted because of an interruption"},
		{Name: EventSpotSLRCreationFailed, Type: warning, Objects: "NodeClaim",
			When: "the service-linked role for spot instances does not exist and cannot be created"},
		{Name: EventNodeJoinDelayed, Type: warning, Objects: "NodeClaim", Dedupe: long,
			When: "the node has not joined two minutes after launch; the message has the cause"},
		{Name: EventLaunchDelayed, Type: warning, Objects: "NodeClaim", Dedupe: long,
			When: "Cluster API: the Machine has no provider ID after half a minute; the message has what the infrastructure reports, or that it reports nothing"},
		{Name: EventTerminationWithheld, Type: warning, Objects: "node class, Node", Dedupe: long,
			When: "instances were not terminated because they are too many at once, or an instance without NodeClaim because its node is in use"},
		{Name: EventProviderUnreachable, Type: warning, Objects: "NodePool", Dedupe: long,
			When: "the provider of the NodePool runs in another process and does not answer, or its answers are rejected"},
	}
}

// reasonsByKey returns the Reasons by their names in lower case.
func reasonsByKey() map[string]Reason {
	table := map[string]Reason{}
	for _, r := range Reasons() {
		table[strings.ToLower(r.Name)] = r
	}
	return table
}
