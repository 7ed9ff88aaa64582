package telemetry

import "github.com/prometheus/client_golang/prometheus"

// NodeClaimMetrics are the metrics of NodeClaims.
type NodeClaimMetrics struct {
	// CreatedTotal has the labels reason, nodepool and min_values_relaxed.
	CreatedTotal *prometheus.CounterVec
	// TerminatedTotal has the labels nodepool, capacity_type and zone.
	TerminatedTotal *prometheus.CounterVec
	// DisruptedTotal has the labels reason, nodepool, capacity_type, consolidation_policy and termination_mode. The value
	// of reason is one of the Disrupted constants, or the kind of a notice of the cloud. The value of consolidation_policy
	// is in snake case, as by SnakeCase.
	DisruptedTotal *prometheus.CounterVec
	// UnhealthyDisruptedTotal has the labels condition, nodepool, capacity_type, image_id and termination_mode. The value of
	// condition is in snake case, as by SnakeCase.
	UnhealthyDisruptedTotal *prometheus.CounterVec
	// InstanceTerminationDurationSeconds (label nodepool) is the time from the request to terminate an instance until it no
	// longer existed.
	InstanceTerminationDurationSeconds *prometheus.HistogramVec
	// TerminationDurationSeconds (label nodepool) is the time from the deletion timestamp of the NodeClaim until Karpenter
	// removed its finalizer.
	TerminationDurationSeconds *prometheus.HistogramVec
}

// DisruptionLabels returns the labels of the metrics of disrupted NodeClaims and pods, in the order of WithLabelValues.
func DisruptionLabels() []string {
	return []string{"reason", "nodepool", "capacity_type", "consolidation_policy", "termination_mode"}
}

func newNodeClaimMetrics(d declarer) *NodeClaimMetrics {
	return &NodeClaimMetrics{
		CreatedTotal: d.counter("created_total", "NodeClaims created.", "reason", "nodepool", "min_values_relaxed"),
		TerminatedTotal: d.counter("terminated_total", "NodeClaims terminated.",
			"nodepool", "capacity_type", "zone"),
		DisruptedTotal: d.counter("disrupted_total", "NodeClaims that Karpenter started to disrupt, by reason.",
			DisruptionLabels()...),
		UnhealthyDisruptedTotal: d.counter("unhealthy_disrupted_total",
			"NodeClaims deleted or rebooted by node repair, by the condition of the node.",
			"condition", "nodepool", "capacity_type", "image_id", "termination_mode"),
		InstanceTerminationDurationSeconds: d.histogram("instance_termination_duration_seconds",
			"Time from the request to terminate an instance until it is terminated, in seconds.", powersOfTwo(10), "nodepool"),
		TerminationDurationSeconds: d.histogram("termination_duration_seconds",
			"Time from the deletion of a NodeClaim until its finalizer is removed, in seconds.", powersOfTwo(11), "nodepool"),
	}
}

// Values of the label result of reboots.
const (
	RebootSucceeded       = "succeeded"
	RebootProviderError   = "provider_error"
	RebootRecoveryTimeout = "recovery_timeout"
	RebootInvalidRequest  = "invalid_request"
)

// Values of the label reason of disruptions.
const (
	DisruptedUnderutilized         = "underutilized"
	DisruptedEmpty                 = "empty"
	DisruptedDrifted               = "drifted"
	DisruptedExpired               = "expired"
	DisruptedUnhealthy             = "unhealthy"
	DisruptedGarbageCollected      = "garbage_collected"
	DisruptedInsufficientCapacity  = "insufficient_capacity"
	DisruptedNodeClassNotReady     = "nodeclass_not_ready"
	DisruptedLaunchTimeout         = "launch_timeout"
	DisruptedRegistrationTimeout   = "registration_timeout"
	DisruptedInitializationTimeout = "initialization_timeout"
	// DisruptedStaticScaleIn is for nodes of a static NodePool in excess of its replicas. DisruptedUnusedReplacement is for
	// replacements whose disruption was cancelled and that no pod needs.
	DisruptedStaticScaleIn     = "static_scale_in"
	DisruptedUnusedReplacement = "unused_replacement"
)
